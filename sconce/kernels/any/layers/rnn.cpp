// Recurrent networks: layers and directions on top of sconce::rnn_layer.
#include <tuple>
#include <vector>

#include "sconce/base/checked.h"
#include "sconce/base/error.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/recurrent_kernels.h"
#include "sconce/ops.h"

namespace sconce::any_device {
namespace {

enum Mode : int64_t { relu_mode = 0, tanh_mode = 1, lstm_mode = 2, gru_mode = 3 };

struct Network {
  bool has_biases;
  int64_t num_layers;
  double dropout;
  bool train, bidirectional;
};

struct States {
  Tensor out, h, c;
};

// input is [steps, batch, width], or [rows, width] with batch_sizes; hx and cx [layers * directions, batch, state].
States run(const Tensor& input, const Tensor& batch_sizes, const Tensor& hx, const Tensor& cx, TensorList params,
           const Network& net, int64_t mode) {
  const int64_t directions = net.bidirectional ? 2 : 1, runs = Checked(net.num_layers) * directions;
  SCONCE_CHECK(hx.dim() == 3 && (!cx.defined() || cx.dim() == 3), "hidden states must have 3 dimensions, got {}",
               hx.sizes());
  SCONCE_CHECK(hx.sizes()[0] == runs && (!cx.defined() || cx.sizes()[0] == runs),
               "Expected hidden size ({}, {}, {}), got {}", runs, hx.sizes()[1], hx.sizes()[2], hx.sizes());
  const bool projects = cx.defined() && hx.sizes()[2] != cx.sizes()[2];
  const int64_t per = (net.has_biases ? 4 : 2) + (projects ? 1 : 0);
  SCONCE_CHECK(net.num_layers > 0, "num_layers must be greater than zero, got {}", net.num_layers);
  SCONCE_CHECK(static_cast<int64_t>(params.size()) == Checked(runs) * per,
               "got an incorrect number of RNN parameters: {}, expected {}", params.size(),
               int64_t{Checked(runs) * per});
  Tensor x = input;
  std::vector<Tensor> h, c;
  for (int64_t layer = 0; layer < net.num_layers; ++layer) {
    std::vector<Tensor> outs;
    for (int64_t d = 0; d < directions; ++d) {
      const int64_t i = layer * directions + d;
      const TensorList p = params.slice(i * per, per);
      const std::vector<Tensor> results = rnn_layer(
          x, select(hx, 0, i), cx.defined() ? select(cx, 0, i) : Tensor(), p[0], p[1], net.has_biases ? p[2] : Tensor(),
          net.has_biases ? p[3] : Tensor(), projects ? p[per - 1] : Tensor(), batch_sizes, mode, d == 1);
      outs.push_back(results[0]);
      h.push_back(results[1]);
      if (cx.defined()) c.push_back(results[2]);
    }
    x = directions == 1 ? outs[0] : cat(outs, outs[0].dim() - 1);
    if (net.dropout != 0 && net.train && layer + 1 < net.num_layers) x = dropout(x, net.dropout, true);
  }
  return {x, stack(h, 0), cx.defined() ? stack(c, 0) : Tensor()};
}

std::tuple<Tensor, Tensor> plain(const Tensor& input, const Tensor& hx, TensorList params, const Network& net,
                                 bool batch_first, int64_t mode) {
  SCONCE_CHECK(input.dim() == 3, "input must have 3 dimensions, got {}", input.dim());
  const States s = run(batch_first ? transpose(input, 0, 1) : input, {}, hx, {}, params, net, mode);
  return {batch_first ? transpose(s.out, 0, 1) : s.out, s.h};
}
std::tuple<Tensor, Tensor> packed(const Tensor& data, const Tensor& batch_sizes, const Tensor& hx, TensorList params,
                                  const Network& net, int64_t mode) {
  const States s = run(data, batch_sizes, hx, {}, params, net, mode);
  return {s.out, s.h};
}

std::vector<Tensor> cell(const Tensor& input, const Tensor& hx, const Tensor& cx, const Tensor& w_ih,
                         const Tensor& w_hh, const Tensor& b_ih, const Tensor& b_hh, int64_t mode) {
  SCONCE_CHECK(input.dim() == 2, "input of a cell must have 2 dimensions, got {}", input.sizes());
  return rnn_layer(unsqueeze(input, 0), hx, cx, w_ih, w_hh, b_ih, b_hh, Tensor(), Tensor(), mode, false);
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> lstm_input(const Tensor& input, TensorList hx, TensorList params, bool has_biases,
                                              int64_t num_layers, double dropout, bool train, bool bidirectional,
                                              bool batch_first) {
  SCONCE_CHECK(hx.size() == 2, "lstm expects two hidden states");
  SCONCE_CHECK(input.dim() == 3, "input must have 3 dimensions, got {}", input.dim());
  const States s = run(batch_first ? transpose(input, 0, 1) : input, {}, hx[0], hx[1], params,
                       {has_biases, num_layers, dropout, train, bidirectional}, lstm_mode);
  return {batch_first ? transpose(s.out, 0, 1) : s.out, s.h, s.c};
}
std::tuple<Tensor, Tensor, Tensor> lstm_data(const Tensor& data, const Tensor& batch_sizes, TensorList hx,
                                             TensorList params, bool has_biases, int64_t num_layers, double dropout,
                                             bool train, bool bidirectional) {
  SCONCE_CHECK(hx.size() == 2, "lstm expects two hidden states");
  const States s =
      run(data, batch_sizes, hx[0], hx[1], params, {has_biases, num_layers, dropout, train, bidirectional}, lstm_mode);
  return {s.out, s.h, s.c};
}

#define SCONCE_RECURRENT(name, mode)                                                                                 \
  std::tuple<Tensor, Tensor> name##_input(const Tensor& input, const Tensor& hx, TensorList params, bool has_biases, \
                                          int64_t num_layers, double dropout, bool train, bool bidirectional,        \
                                          bool batch_first) {                                                        \
    return plain(input, hx, params, {has_biases, num_layers, dropout, train, bidirectional}, batch_first, mode);     \
  }                                                                                                                  \
  std::tuple<Tensor, Tensor> name##_data(const Tensor& data, const Tensor& batch_sizes, const Tensor& hx,            \
                                         TensorList params, bool has_biases, int64_t num_layers, double dropout,     \
                                         bool train, bool bidirectional) {                                           \
    return packed(data, batch_sizes, hx, params, {has_biases, num_layers, dropout, train, bidirectional}, mode);     \
  }                                                                                                                  \
  Tensor name##_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh,                  \
                     const Tensor& b_ih, const Tensor& b_hh) {                                                       \
    return cell(input, hx, {}, w_ih, w_hh, b_ih, b_hh, mode)[1];                                                     \
  }
SCONCE_RECURRENT(gru, gru_mode)
SCONCE_RECURRENT(rnn_tanh, tanh_mode)
SCONCE_RECURRENT(rnn_relu, relu_mode)
#undef SCONCE_RECURRENT

std::tuple<Tensor, Tensor> lstm_cell(const Tensor& input, TensorList hx, const Tensor& w_ih, const Tensor& w_hh,
                                     const Tensor& b_ih, const Tensor& b_hh) {
  SCONCE_CHECK(hx.size() == 2, "lstm_cell expects two hidden states");
  const std::vector<Tensor> results = cell(input, hx[0], hx[1], w_ih, w_hh, b_ih, b_hh, lstm_mode);
  return {results[1], results[2]};
}

}  // namespace sconce::any_device
