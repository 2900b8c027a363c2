#include "sconce/tracing/cells.h"

#include <string_view>

#include "sconce/base/error.h"
#include "sconce/ops.h"

namespace sconce::tracing {
namespace {

// input, hidden state, w_ih, w_hh, b_ih, b_hh
struct Gates {
  explicit Gates(const Value* args)
      : input(args[0].to_tensor()),
        w_ih(args[2].to_tensor()),
        w_hh(args[3].to_tensor()),
        b_ih(args[4].to_optional_tensor()),
        b_hh(args[5].to_optional_tensor()) {}
  Tensor of_input() const { return linear(input, w_ih, b_ih); }
  Tensor of_hidden(const Tensor& hidden) const { return linear(hidden, w_hh, b_hh); }
  Tensor sum(const Tensor& hidden) const {
    const Tensor gates = of_hidden(hidden);
    return add_(gates, of_input());
  }

  const Tensor &input, &w_ih, &w_hh, &b_ih, &b_hh;
};

void lstm(const Value* args, Value* returns) {
  const List& hx = args[1].to_list();
  SCONCE_CHECK(hx.size() == 2, "lstm_cell expects two hidden states");
  const std::vector<Tensor> gates = unsafe_chunk(Gates(args).sum(hx.get(0).to_tensor()), 4, 1);
  const Tensor in = sigmoid_(gates[0]), forget = sigmoid_(gates[1]), cell = tanh_(gates[2]), out = sigmoid_(gates[3]);
  const Tensor kept = mul(forget, hx.get(1).to_tensor());
  const Tensor state = add_(kept, mul(in, cell));
  returns[0] = mul(out, tanh(state));
  returns[1] = state;
}

void gru(const Value* args, Value* returns) {
  const Tensor& hidden = args[1].to_tensor();
  const Gates gates(args);
  const std::vector<Tensor> x = unsafe_chunk(gates.of_input(), 3, 1), h = unsafe_chunk(gates.of_hidden(hidden), 3, 1);
  const Tensor reset = sigmoid_(add_(h[0], x[0]));
  const Tensor update = sigmoid_(add_(h[1], x[1]));
  const Tensor fresh = tanh_(add(x[2], mul_(h[2], reset)));
  returns[0] = add_(mul_(sub(hidden, fresh), update), fresh);
}

}  // namespace

bool run_cell(const Op& op, const Value* args, Value* returns) {
  const std::string_view name = op.info.name;
  if (name == "aten::lstm_cell") {
    lstm(args, returns);
  } else if (name == "aten::gru_cell") {
    gru(args, returns);
  } else if (name == "aten::rnn_tanh_cell") {
    returns[0] = tanh(Gates(args).sum(args[1].to_tensor()));
  } else if (name == "aten::rnn_relu_cell") {
    returns[0] = relu(Gates(args).sum(args[1].to_tensor()));
  } else {
    return false;
  }
  return true;
}

}  // namespace sconce::tracing
