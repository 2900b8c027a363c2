// Softmax and the norms of layers and groups, with their gradients: row kernels; batch norm, which is composed of
// reductions.
#include "sconce/base/error.h"
#include "sconce/generated/normalization_cuda_kernels.h"
#include "sconce/kernels/cuda/row_kernels.h"
#include "sconce/ops.h"

namespace sconce::cuda {
namespace {

void check_floating(const Tensor& t, const char* name) {
  SCONCE_CHECK_AS(not_implemented, is_floating(t.dtype()), "\"{}\" not implemented for '{}'", name,
                  dtype_legacy_name(t.dtype()));
}

// Rows are the lines of dimension `dim`: other ones are brought behind the others first.
void along(RowCall call, int64_t dim, const Tensor& out) {
  const int64_t rank = out.dim();
  if (rank > 0 && dim < 0) dim += rank;
  call.columns = rank == 0 ? 1 : out.sizes()[static_cast<size_t>(dim)];
  call.rows = call.columns == 0 ? 0 : out.numel() / call.columns;
  const bool last = rank == 0 || dim == rank - 1;
  Tensor in[3];
  for (int k = 0; k < 3; ++k) {
    if (call.in[k] == nullptr) continue;
    in[k] = dense(last ? *call.in[k] : sconce::movedim(*call.in[k], dim, -1));
    call.in[k] = &in[k];
  }
  if (last && out.is_contiguous()) {
    call.out = &out;
    return launch_rows(call);
  }
  const Tensor made = empty_tensor(in[0].sizes(), out.dtype(), out.device());
  call.out = &made;
  launch_rows(call);
  sconce::copy_(out, last ? made : sconce::movedim(made, -1, dim));
}

DType compute_dtype(const Tensor& t) { return t.dtype() == DType::float64 ? DType::float64 : DType::float32; }

// The sum over all but the columns of a matrix.
Tensor column_sums(const Tensor& t, DType dtype) { return sconce::sum(t, IntList({0}), false, dtype); }

int64_t product(IntList sizes) {
  int64_t n = 1;
  for (const int64_t s : sizes) n *= s;
  return n;
}

}  // namespace

void _softmax(const Tensor& self, int64_t dim, bool, const Tensor& out) {
  check_floating(self, "softmax");
  along({.kernel = RowKernel::softmax, .name = "softmax", .in = {&self}}, dim, out);
}
void _log_softmax(const Tensor& self, int64_t dim, bool, const Tensor& out) {
  check_floating(self, "log_softmax");
  along({.kernel = RowKernel::log_softmax, .name = "log_softmax", .in = {&self}}, dim, out);
}
void _softmax_backward_data(const Tensor& grad_output, const Tensor& output, int64_t dim, DType, const Tensor& out) {
  check_floating(output, "softmax_backward");
  along({.kernel = RowKernel::softmax_backward, .name = "softmax_backward", .in = {&grad_output, &output}}, dim, out);
}
void _log_softmax_backward_data(const Tensor& grad_output, const Tensor& output, int64_t dim, DType,
                                const Tensor& out) {
  check_floating(output, "log_softmax_backward");
  along({.kernel = RowKernel::log_softmax_backward, .name = "log_softmax_backward", .in = {&grad_output, &output}}, dim,
        out);
}

void native_layer_norm(const Tensor& input, IntList normalized_shape, const Tensor& weight, const Tensor& bias,
                       double eps, const Tensor& out, const Tensor& mean, const Tensor& rstd) {
  check_floating(input, "layer_norm");
  const Tensor x = dense(input), w = dense(weight), b = dense(bias);
  const Tensor y = out.is_contiguous() ? out : empty_tensor(out.sizes(), out.dtype(), out.device());
  launch_rows({.kernel = RowKernel::norm,
               .name = "layer_norm",
               .in = {&x, &w, &b},
               .out = &y,
               .saved = {&mean, &rstd},
               .rows = mean.numel(),
               .columns = product(normalized_shape),
               .eps = eps});
  if (!y.is_same(out)) sconce::copy_(out, y);
}

void _fused_rms_norm(const Tensor& input, IntList normalized_shape, const Tensor& weight, std::optional<double> eps,
                     const Tensor& out, const Tensor& rstd) {
  check_floating(input, "rms_norm");
  const Tensor x = dense(input), w = dense(weight);
  const Tensor y = out.is_contiguous() ? out : empty_tensor(out.sizes(), out.dtype(), out.device());
  const double least = input.dtype() == DType::float64   ? 0x1p-52
                       : input.dtype() == DType::float32 ? 0x1p-23
                       : input.dtype() == DType::float16 ? 0x1p-10
                                                         : 0x1p-7;
  launch_rows({.kernel = RowKernel::rms_norm,
               .name = "rms_norm",
               .in = {&x, &w},
               .out = &y,
               .saved = {nullptr, &rstd},
               .rows = rstd.numel(),
               .columns = product(normalized_shape),
               .eps = eps.value_or(least)});
  if (!y.is_same(out)) sconce::copy_(out, y);
}

std::tuple<Tensor, Tensor, Tensor> native_layer_norm_backward(const Tensor& grad_out, const Tensor& input,
                                                              IntList normalized_shape, const Tensor& mean,
                                                              const Tensor& rstd, const Tensor& weight,
                                                              const Tensor& bias, ListRef<bool> output_mask) {
  const Tensor g = dense(grad_out), x = dense(input), w = dense(weight), m = dense(mean), s = dense(rstd);
  const int64_t rows = mean.numel(), columns = product(normalized_shape);
  Tensor for_input, for_weight, for_bias;
  if (output_mask[0]) {
    for_input = empty_tensor(input.sizes(), input.dtype(), input.device());
    launch_rows({.kernel = RowKernel::norm_backward,
                 .name = "layer_norm_backward",
                 .in = {&g, &x, &w},
                 .out = &for_input,
                 .saved = {&m, &s},
                 .rows = rows,
                 .columns = columns});
  }
  const DType compute = compute_dtype(input);
  if (output_mask[1] && weight.defined()) {
    const Tensor centred = sconce::mul(sconce::sub(sconce::to(sconce::view(x, {rows, columns}), compute),
                                                   sconce::to(sconce::view(m, {rows, 1}), compute)),
                                       sconce::to(sconce::view(s, {rows, 1}), compute));
    const Tensor products = sconce::mul(sconce::to(sconce::view(g, {rows, columns}), compute), centred);
    for_weight = sconce::to(sconce::view(column_sums(products, compute), normalized_shape), weight.dtype());
  }
  if (output_mask[2] && bias.defined()) {
    for_bias = sconce::to(sconce::view(column_sums(sconce::view(g, {rows, columns}), compute), normalized_shape),
                          bias.dtype());
  }
  return {for_input, for_weight, for_bias};
}

}  // namespace sconce::cuda
