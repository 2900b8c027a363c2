// Recurrent layer: forward and backpropagation through time of one layer in one direction, over rows of steps.
#pragma once

#include <vector>

#include "sconce/tensor/tensor.h"

namespace sconce {

enum class RnnMode { relu = 0, tanh = 1, lstm = 2, gru = 3 };
constexpr int64_t rnn_gates(RnnMode mode) { return mode == RnnMode::lstm ? 4 : mode == RnnMode::gru ? 3 : 1; }

// Everything dense, of one dtype: float32 or float64.
struct RnnLayer {
  RnnMode mode;
  bool reverse;                   // from the last step to the first
  std::vector<int64_t> batch;     // rows of each step; not growing
  Tensor input;                   // [rows, width]
  Tensor hx, cx;                  // [batch, state], [batch, hidden]; cx for lstm only
  Tensor w_ih, w_hh, b_ih, b_hh;  // [gates * hidden, width], [gates * hidden, state], [gates * hidden] or undefined
  Tensor w_hr;                    // [state, hidden] or undefined: then state is hidden
};

// out [rows, state], hy [batch, state], cy [batch, hidden] (lstm). gates [rows, gates * hidden] and kept [rows, hidden]
// are working memory (kept: lstm and gru); with `save` they hold the values for the gradient: activated gates and cell
// states or hidden candidates.
void rnn_forward(const RnnLayer& layer, const Tensor& out, const Tensor& hy, const Tensor& cy, const Tensor& gates,
                 const Tensor& kept, bool save);

struct RnnGradients {
  Tensor input, hx, cx, w_ih, w_hh, b_ih, b_hh, w_hr;  // undefined where the layer has none
};
// grad_out, grad_hy and grad_cy may be undefined.
RnnGradients rnn_backward(const RnnLayer& layer, const Tensor& grad_out, const Tensor& grad_hy, const Tensor& grad_cy,
                          const Tensor& out, const Tensor& gates, const Tensor& kept);

}  // namespace sconce
