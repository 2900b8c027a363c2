// Recurrent layers, rnn_layer and rnn_layer_backward: checks, results and dtypes, around a device's sweeps over steps.
#pragma once

#include "sconce/base/export.h"
#include "sconce/kernels/cpu/rnn/rnn_sweep.h"

namespace sconce {

// The loops over steps of a device, as rnn_sweep.h describes those of the CPU.
struct RnnSweeps {
  void (*forward)(const RnnLayer& layer, const Tensor& out, const Tensor& hy, const Tensor& cy, const Tensor& gates,
                  const Tensor& kept, bool save);
  RnnGradients (*backward)(const RnnLayer& layer, const Tensor& grad_out, const Tensor& grad_hy, const Tensor& grad_cy,
                           const Tensor& out, const Tensor& gates, const Tensor& kept);
};

SCONCE_API std::vector<Tensor> run_rnn_layer(const RnnSweeps& sweeps, const Tensor& input, const Tensor& hx,
                                             const Tensor& cx, const Tensor& w_ih, const Tensor& w_hh,
                                             const Tensor& b_ih, const Tensor& b_hh, const Tensor& w_hr,
                                             const Tensor& batch_sizes, int64_t mode_number, bool reverse);
SCONCE_API std::vector<Tensor> run_rnn_layer_backward(const RnnSweeps& sweeps, TensorList grads, const Tensor& input,
                                                      const Tensor& hx, const Tensor& cx, const Tensor& w_ih,
                                                      const Tensor& w_hh, const Tensor& b_ih, const Tensor& b_hh,
                                                      const Tensor& w_hr, const Tensor& batch_sizes,
                                                      int64_t mode_number, bool reverse, TensorList results);

}  // namespace sconce
