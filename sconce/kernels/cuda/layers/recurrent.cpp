// Recurrent layers on CUDA devices: the inputs of all steps are multiplied at once; each step then multiplies the
// states before it and runs its cells (text/recurrent/recurrent.cuh). Rows that a step has not keep their states.
#include <algorithm>

#include <fmt/format.h>

#include "sconce/generated/recurrent_cuda_kernels.h"
#include "sconce/kernels/cpu/rnn/rnn_layer.h"
#include "sconce/kernels/cuda/device/launch.h"
#include "sconce/kernels/cuda/row_kernels.h"
#include "sconce/kernels/cuda/shared_types.h"
#include "sconce/kernels/cuda/texts.h"
#include "sconce/ops.h"

namespace sconce::cuda {
namespace {

#include "sconce/kernels/cuda/text/recurrent/recurrent_arguments.cuh"

constexpr const char* kModes[] = {"RELU", "TANH", "LSTM", "GRU"};

const Kernel& cell_of(const RnnLayer& layer, bool backward) {
  const DType dtype = layer.input.dtype();
  const bool projects = layer.w_hr.defined();
  const auto source = [&] {
    std::string out =
        vocabulary(false, 0, false) + compute_lines(dtype == DType::float64 ? Compute::f64 : Compute::f32);
    out += fmt::format("#define {} 1\n#define PROJECTS {}\n{}", kModes[static_cast<int>(layer.mode)], projects ? 1 : 0,
                       backward ? "#define BACKWARD 1\n" : "");
    out += text_file("recurrent_arguments");
    out += text_file("recurrent");
    return out;
  };
  const std::string key = fmt::format("recurrent/{}.{}{}{}", static_cast<int>(dtype), static_cast<int>(layer.mode),
                                      projects ? "p" : "", backward ? "b" : "");
  return find_kernel(layer.input.device(), key, source, backward ? "recurrent_backward" : "recurrent");
}

// The steps in the order in which they run.
struct Step {
  int64_t first, rows;
};
std::vector<Step> steps_of(const RnnLayer& layer) {
  std::vector<Step> steps;
  int64_t first = 0;
  for (const int64_t rows : layer.batch) {
    steps.push_back({first, rows});
    first += rows;
  }
  if (layer.reverse) std::reverse(steps.begin(), steps.end());
  return steps;
}
Tensor rows_at(const Tensor& t, const Step& s) { return sconce::narrow(t, 0, s.first, s.rows); }
Tensor first_rows(const Tensor& t, const Step& s) { return sconce::narrow(t, 0, 0, s.rows); }
void* at_row(const Tensor& t, int64_t row) {
  return t.defined() && t.numel() > 0 ? t.data<char>() + row * t.size(1) * static_cast<int64_t>(t.item_size())
                                      : nullptr;
}

// What stood in the state before each row: of the step before it, or the first states.
Tensor states_before(const RnnLayer& layer, const Tensor& first, const Tensor& all) {
  const Tensor out = empty_tensor(all.sizes(), all.dtype(), all.device()), running = sconce::clone(first);
  const bool even = !layer.batch.empty() && layer.batch.back() == layer.batch.front();
  if (even) {
    const int64_t rows = layer.batch[0], rest = all.size(0) - rows;
    sconce::copy_(sconce::narrow(out, 0, layer.reverse ? rest : 0, rows), first);
    if (rest > 0)
      sconce::copy_(sconce::narrow(out, 0, layer.reverse ? 0 : rows, rest),
                    sconce::narrow(all, 0, layer.reverse ? rows : 0, rest));
    return out;
  }
  for (const Step& s : steps_of(layer)) {
    sconce::copy_(rows_at(out, s), first_rows(running, s));
    sconce::copy_(first_rows(running, s), rows_at(all, s));
  }
  return out;
}

void forward(const RnnLayer& layer, const Tensor& out, const Tensor& hy, const Tensor& cy, const Tensor& gates,
             const Tensor& kept, bool) {
  const Device device = layer.input.device();
  const bool lstm = layer.mode == RnnMode::lstm, gru = layer.mode == RnnMode::gru, projects = layer.w_hr.defined();
  const int64_t hidden = layer.w_hh.size(0) / rnn_gates(layer.mode);
  // One bias for both products, but for the gru's candidate, whose part of the state is multiplied by a gate.
  Tensor bias = layer.b_ih;
  if (bias.defined() && !gru) bias = sconce::add(layer.b_ih, layer.b_hh);
  sconce::copy_(gates, sconce::linear(layer.input, layer.w_ih, bias));
  sconce::copy_(hy, layer.hx);  // the running states end as the last ones
  if (lstm) sconce::copy_(cy, layer.cx);
  const Kernel& cell = cell_of(layer, false);
  for (const Step& s : steps_of(layer)) {
    const Tensor state = sconce::linear(first_rows(hy, s), layer.w_hh, gru ? layer.b_hh : Tensor());
    const Tensor shown = projects ? empty_tensor({s.rows, hidden}, out.dtype(), device) : Tensor();
    RecurrentArguments a{};
    a.gates = at_row(gates, s.first);
    a.state = state.data();
    a.kept = at_row(kept, s.first);
    a.cells = lstm ? cy.data() : nullptr;
    a.running = hy.data();
    a.out = projects ? shown.data() : at_row(out, s.first);
    a.rows = s.rows;
    a.hidden = hidden;
    launch_each(device, cell, s.rows * hidden, &a, sizeof a, "rnn_layer");
    if (!projects) continue;
    const Tensor after = sconce::linear(shown, layer.w_hr);
    sconce::copy_(rows_at(out, s), after);
    sconce::copy_(first_rows(hy, s), after);
  }
}

RnnGradients backward(const RnnLayer& layer, const Tensor& grad_out, const Tensor& grad_hy, const Tensor& grad_cy,
                      const Tensor& out, const Tensor& gates, const Tensor& kept) {
  const Device device = layer.input.device();
  const DType dtype = layer.input.dtype();
  const bool lstm = layer.mode == RnnMode::lstm, gru = layer.mode == RnnMode::gru, projects = layer.w_hr.defined();
  const int64_t pitch = layer.w_hh.size(0), hidden = pitch / rnn_gates(layer.mode), rows = layer.input.size(0);
  const auto started = [&](const Tensor& given, const Tensor& like) {
    return given.defined() ? sconce::clone(given) : sconce::zeros_like(like);
  };
  const Tensor dh = started(grad_hy, layer.hx), dc = lstm ? started(grad_cy, layer.cx) : Tensor();
  const Tensor of_input = empty_tensor({rows, pitch}, dtype, device);
  const Tensor of_state = gru ? empty_tensor({rows, pitch}, dtype, device) : of_input;
  const Tensor before = states_before(layer, layer.hx, out);
  const Tensor cells_before = lstm ? states_before(layer, layer.cx, kept) : Tensor();
  const Tensor shown = projects ? empty_tensor({rows, hidden}, dtype, device) : Tensor();
  const Tensor projected = projects ? empty_tensor({rows, layer.w_hh.size(1)}, dtype, device) : Tensor();
  const Kernel& cell = cell_of(layer, true);
  const std::vector<Step> steps = steps_of(layer);
  for (auto s = steps.rbegin(); s != steps.rend(); ++s) {
    Tensor inner;
    if (projects) {
      const Tensor here = rows_at(projected, *s);
      sconce::copy_(here, first_rows(dh, *s));
      if (grad_out.defined()) sconce::add_(here, rows_at(grad_out, *s));
      inner = sconce::mm(here, layer.w_hr);
    }
    RecurrentArguments a{};
    a.gates = at_row(gates, s->first);
    a.kept = at_row(kept, s->first);
    a.cells = lstm ? dc.data() : nullptr;
    a.running = projects ? inner.data() : dh.data();
    a.out = projects ? at_row(shown, s->first) : nullptr;
    a.before = at_row(lstm ? cells_before : before, s->first);
    a.grad_out = projects || !grad_out.defined() ? nullptr : at_row(grad_out, s->first);
    a.of_input = at_row(of_input, s->first);
    a.of_state = at_row(of_state, s->first);
    a.rows = s->rows;
    a.hidden = hidden;
    launch_each(device, cell, s->rows * hidden, &a, sizeof a, "rnn_layer_backward");
    sconce::addmm_(first_rows(dh, *s), rows_at(of_state, *s), layer.w_hh, Scalar(gru ? 1 : 0), Scalar(1));
  }
  RnnGradients result;
  result.hx = dh;
  result.cx = dc;
  result.input = sconce::mm(of_input, layer.w_ih);
  result.w_ih = sconce::mm(sconce::t(of_input), layer.input);
  result.w_hh = sconce::mm(sconce::t(of_state), before);
  if (layer.b_ih.defined()) {
    result.b_ih = sconce::sum(of_input, IntList({0}));
    result.b_hh = gru ? sconce::sum(of_state, IntList({0})) : sconce::clone(result.b_ih);
  }
  if (projects) result.w_hr = sconce::mm(sconce::t(projected), shown);
  return result;
}

}  // namespace

std::vector<Tensor> sconce_rnn_layer(const Tensor& input, const Tensor& hx, const Tensor& cx, const Tensor& w_ih,
                                     const Tensor& w_hh, const Tensor& b_ih, const Tensor& b_hh, const Tensor& w_hr,
                                     const Tensor& batch_sizes, int64_t mode, bool reverse) {
  return run_rnn_layer({forward, backward}, input, hx, cx, w_ih, w_hh, b_ih, b_hh, w_hr, batch_sizes, mode, reverse);
}

std::vector<Tensor> sconce_rnn_layer_backward(TensorList grads, const Tensor& input, const Tensor& hx, const Tensor& cx,
                                              const Tensor& w_ih, const Tensor& w_hh, const Tensor& b_ih,
                                              const Tensor& b_hh, const Tensor& w_hr, const Tensor& batch_sizes,
                                              int64_t mode, bool reverse, TensorList results) {
  return run_rnn_layer_backward({forward, backward}, grads, input, hx, cx, w_ih, w_hh, b_ih, b_hh, w_hr, batch_sizes,
                                mode, reverse, results);
}

}  // namespace sconce::cuda
