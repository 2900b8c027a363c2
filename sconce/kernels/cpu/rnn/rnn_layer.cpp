// A recurrent layer: checks, results, and the dtype that it computes in.
#include "sconce/kernels/cpu/rnn/rnn_layer.h"

#include "sconce/base/error.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/recurrent_kernels.h"
#include "sconce/kernels/cpu/rnn/rnn_layer_steps.h"
#include "sconce/ops.h"
#include "sconce/tensor/grad_mode.h"

namespace sconce {
namespace {

DType compute_dtype(const Tensor& t) { return t.dtype() == DType::float64 ? DType::float64 : DType::float32; }

struct Shape {
  int64_t rows, batch, hidden, state;
};

Shape checked(const Tensor& input, const Tensor& hx, const Tensor& cx, const Tensor& w_ih, const Tensor& w_hh,
              const Tensor& b_ih, const Tensor& b_hh, const Tensor& w_hr, const Tensor& batch_sizes, RnnMode mode) {
  SCONCE_CHECK(is_floating(input.dtype()), "recurrent layers need floating point input, got {}",
               dtype_legacy_name(input.dtype()));
  const int64_t rank = batch_sizes.defined() ? 2 : 3;
  SCONCE_CHECK(input.dim() == rank, "input must have {} dimensions, got {}", rank, input.dim());
  SCONCE_CHECK(w_ih.dim() == 2 && w_hh.dim() == 2 && hx.dim() == 2,
               "weights and states of a layer must have 2 dimensions, got {}, {}, {}", w_ih.sizes(), w_hh.sizes(),
               hx.sizes());
  SCONCE_CHECK(
      input.dtype() == hx.dtype() && input.dtype() == w_ih.dtype() && input.dtype() == w_hh.dtype(),
      "Input and parameter tensors are not the same dtype, found input tensor with {} and parameter tensor with {}",
      dtype_legacy_name(input.dtype()), dtype_legacy_name(input.dtype() == hx.dtype() ? w_ih.dtype() : hx.dtype()));
  const int64_t width = input.sizes().back(), gates = rnn_gates(mode), hidden = w_hh.sizes()[0] / gates,
                state = w_hh.sizes()[1];
  SCONCE_CHECK(width == w_ih.sizes()[1], "input.size(-1) must be equal to input_size. Expected {}, got {}",
               w_ih.sizes()[1], width);
  SCONCE_CHECK(w_ih.sizes()[0] == gates * hidden && w_hh.sizes()[0] == gates * hidden,
               "sizes of weights {} and {} do not fit", w_ih.sizes(), w_hh.sizes());
  SCONCE_CHECK(
      w_hr.defined() ? w_hr.dim() == 2 && w_hr.sizes()[0] == state && w_hr.sizes()[1] == hidden : state == hidden,
      "sizes of weights {} and {} do not fit", w_hh.sizes(), w_hr.defined() ? w_hr.sizes() : IntList());
  SCONCE_CHECK(b_ih.defined() == b_hh.defined() &&
                   (!b_ih.defined() || (b_ih.numel() == gates * hidden && b_hh.numel() == gates * hidden)),
               "biases of a layer must have {} elements", gates * hidden);
  const int64_t batch = hx.sizes()[0];
  SCONCE_CHECK(batch_sizes.defined() || input.sizes()[1] == batch, "Expected hidden size ({}, {}), got {}",
               input.sizes()[1], state, hx.sizes());
  SCONCE_CHECK(hx.sizes()[1] == state, "Expected hidden size ({}, {}), got {}", batch, state, hx.sizes());
  SCONCE_CHECK(mode != RnnMode::lstm || (cx.defined() && cx.dim() == 2 && cx.sizes()[0] == batch &&
                                         cx.sizes()[1] == hidden && cx.dtype() == input.dtype()),
               "Expected cell size ({}, {}), got {}", batch, hidden, cx.defined() ? cx.sizes() : IntList());
  return {batch_sizes.defined() ? input.sizes()[0] : input.sizes()[0] * input.sizes()[1], batch, hidden, state};
}

std::vector<int64_t> rows_of_steps(const Tensor& input, const Tensor& batch_sizes, const Shape& shape) {
  if (!batch_sizes.defined()) return std::vector<int64_t>(static_cast<size_t>(input.sizes()[0]), shape.batch);
  SCONCE_CHECK(
      batch_sizes.device().type == DeviceType::cpu && batch_sizes.dtype() == DType::int64 && batch_sizes.dim() == 1,
      "batch_sizes tensor should be on CPU, of dtype int64 and 1D");
  const Tensor dense = contiguous_tensor(batch_sizes);
  std::vector<int64_t> rows(dense.data<int64_t>(), dense.data<int64_t>() + dense.numel());
  int64_t total = 0, before = shape.batch;
  for (const int64_t r : rows) {
    SCONCE_CHECK(0 < r && r <= before, "batch_sizes must be positive and must not grow, got {}", IntList(rows));
    before = r;
    total += r;
  }
  SCONCE_CHECK(total == shape.rows && (rows.empty() || rows[0] == shape.batch),
               "batch_sizes {} do not fit data of size {}", IntList(rows), input.sizes());
  return rows;
}

RnnLayer layer_of(const Tensor& input, const Tensor& hx, const Tensor& cx, const Tensor& w_ih, const Tensor& w_hh,
                  const Tensor& b_ih, const Tensor& b_hh, const Tensor& w_hr, const Tensor& batch_sizes, RnnMode mode,
                  bool reverse, const Shape& shape) {
  const DType dtype = compute_dtype(input);
  const auto dense = [&](const Tensor& t) { return t.defined() ? contiguous_tensor(to_dtype(t, dtype)) : t; };
  return {mode,
          reverse,
          rows_of_steps(input, batch_sizes, shape),
          reshape(dense(input), {shape.rows, input.sizes().back()}),
          dense(hx),
          dense(cx),
          dense(w_ih),
          dense(w_hh),
          dense(b_ih),
          dense(b_hh),
          dense(w_hr)};
}

}  // namespace

std::vector<Tensor> run_rnn_layer(const RnnSweeps& sweeps, const Tensor& input, const Tensor& hx, const Tensor& cx,
                                  const Tensor& w_ih, const Tensor& w_hh, const Tensor& b_ih, const Tensor& b_hh,
                                  const Tensor& w_hr, const Tensor& batch_sizes, int64_t mode_number, bool reverse) {
  SCONCE_CHECK(0 <= mode_number && mode_number <= 3, "rnn_layer: mode must be 0 to 3, got {}", mode_number);
  const auto mode = static_cast<RnnMode>(mode_number);
  const Shape shape = checked(input, hx, cx, w_ih, w_hh, b_ih, b_hh, w_hr, batch_sizes, mode);
  const DType dtype = compute_dtype(input);
  const Device device = input.device();
  bool save = false;
  for (const Tensor* t : {&input, &hx, &cx, &w_ih, &w_hh, &b_ih, &b_hh, &w_hr})
    save |= t->defined() && t->requires_grad();
  const Tensor out = empty_tensor({shape.rows, shape.state}, dtype, device),
               hy = empty_tensor({shape.batch, shape.state}, dtype, device);
  const Tensor cy = empty_tensor({mode == RnnMode::lstm ? shape.batch : 0, shape.hidden}, dtype, device);
  Tensor gates = empty_tensor({shape.rows, rnn_gates(mode) * shape.hidden}, dtype, device);
  Tensor kept =
      empty_tensor({mode == RnnMode::lstm || mode == RnnMode::gru ? shape.rows : 0, shape.hidden}, dtype, device);
  if (!input.is_meta()) {
    sweeps.forward(layer_of(input, hx, cx, w_ih, w_hh, b_ih, b_hh, w_hr, batch_sizes, mode, reverse, shape), out, hy,
                   cy, gates, kept, save);
  }
  if (!save) gates = kept = empty_tensor({0}, dtype, device);
  const Tensor shaped = batch_sizes.defined() ? out : reshape(out, {input.sizes()[0], input.sizes()[1], shape.state});
  return {to_dtype(shaped, input.dtype()), to_dtype(hy, input.dtype()), to_dtype(cy, input.dtype()), gates, kept};
}

std::vector<Tensor> run_rnn_layer_backward(const RnnSweeps& sweeps, TensorList grads, const Tensor& input,
                                           const Tensor& hx, const Tensor& cx, const Tensor& w_ih, const Tensor& w_hh,
                                           const Tensor& b_ih, const Tensor& b_hh, const Tensor& w_hr,
                                           const Tensor& batch_sizes, int64_t mode_number, bool reverse,
                                           TensorList results) {
  SCONCE_CHECK(0 <= mode_number && mode_number <= 3, "rnn_layer_backward: mode must be 0 to 3, got {}", mode_number);
  SCONCE_CHECK(grads.size() >= 3 && results.size() == 5,
               "rnn_layer_backward: expected gradients of 3 results and 5 results, got {} and {}", grads.size(),
               results.size());
  const auto mode = static_cast<RnnMode>(mode_number);
  const Shape shape = checked(input, hx, cx, w_ih, w_hh, b_ih, b_hh, w_hr, batch_sizes, mode);
  SCONCE_CHECK(input.is_meta() || results[3].dim() == 2,
               "rnn_layer_backward: the forward pass saved nothing, as no argument required a gradient");
  const DType dtype = compute_dtype(input);
  const auto dense = [&](const Tensor& t) { return t.defined() ? contiguous_tensor(to_dtype(t, dtype)) : t; };
  if (input.is_meta()) {
    const auto like = [](const Tensor& t) { return t.defined() ? empty_tensor(t.sizes(), t.dtype(), t.device()) : t; };
    return {like(input), like(hx), like(cx), like(w_ih), like(w_hh), like(b_ih), like(b_hh), like(w_hr)};
  }
  const auto as = [](const Tensor& t, const Tensor& like) {
    return t.defined() && like.defined() ? to(reshape(t, like.sizes()), like.dtype()) : Tensor();
  };
  const auto fitted = [&](const RnnGradients& g) -> std::vector<Tensor> {
    return {as(g.input, input), as(g.hx, hx),     as(g.cx, cx),     as(g.w_ih, w_ih),
            as(g.w_hh, w_hh),   as(g.b_ih, b_ih), as(g.b_hh, b_hh), as(g.w_hr, w_hr)};
  };
  // A gradient of this gradient may be asked for: then it is made of operators that are recorded.
  bool recorded = false;
  for (size_t i = 0; i < 3; ++i) recorded |= grads[i].requires_grad();
  for (const Tensor* t : {&input, &hx, &cx, &w_ih, &w_hh, &b_ih, &b_hh, &w_hr})
    recorded |= t->defined() && t->requires_grad();
  if (recorded && grad_enabled()) {
    const RnnLayer layer{mode,
                         reverse,
                         rows_of_steps(input, batch_sizes, shape),
                         reshape(input, {shape.rows, input.sizes().back()}),
                         hx,
                         cx,
                         w_ih,
                         w_hh,
                         b_ih,
                         b_hh,
                         w_hr};
    return fitted(rnn_backward_by_steps(layer, reshape(grads[0], {shape.rows, shape.state}), grads[1], grads[2]));
  }
  const auto flat = [&](const Tensor& t) { return t.defined() ? reshape(dense(t), {shape.rows, shape.state}) : t; };
  return fitted(sweeps.backward(
      layer_of(input, hx, cx, w_ih, w_hh, b_ih, b_hh, w_hr, batch_sizes, mode, reverse, shape), flat(grads[0]),
      dense(grads[1]), mode == RnnMode::lstm ? dense(grads[2]) : Tensor(), flat(results[0]), results[3], results[4]));
}

namespace cpu {

std::vector<Tensor> sconce_rnn_layer(const Tensor& input, const Tensor& hx, const Tensor& cx, const Tensor& w_ih,
                                     const Tensor& w_hh, const Tensor& b_ih, const Tensor& b_hh, const Tensor& w_hr,
                                     const Tensor& batch_sizes, int64_t mode, bool reverse) {
  return run_rnn_layer({rnn_forward, rnn_backward}, input, hx, cx, w_ih, w_hh, b_ih, b_hh, w_hr, batch_sizes, mode,
                       reverse);
}

std::vector<Tensor> sconce_rnn_layer_backward(TensorList grads, const Tensor& input, const Tensor& hx, const Tensor& cx,
                                              const Tensor& w_ih, const Tensor& w_hh, const Tensor& b_ih,
                                              const Tensor& b_hh, const Tensor& w_hr, const Tensor& batch_sizes,
                                              int64_t mode, bool reverse, TensorList results) {
  return run_rnn_layer_backward({rnn_forward, rnn_backward}, grads, input, hx, cx, w_ih, w_hh, b_ih, b_hh, w_hr,
                                batch_sizes, mode, reverse, results);
}

}  // namespace cpu
}  // namespace sconce
