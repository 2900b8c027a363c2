#include "sconce/kernels/cpu/rnn/rnn_layer_steps.h"

#include <algorithm>

#include "sconce/ops.h"

namespace sconce {
namespace {

// The results of one step. Not all modes have all.
struct Step {
  int64_t begin, rows;
  Tensor h, c;        // states before
  Tensor i, f, g, o;  // lstm
  Tensor tanh_c, unprojected;
  Tensor r, z, n, hidden_n;  // gru; hidden_n is the part of n that comes from h
  Tensor next, next_c;       // states after
};

// Gradients for what goes into the gates from the input and from the state, and for the states beside.
struct StepGradients {
  Tensor input_gates, state_gates, h, c;
};

Tensor one_minus(const Tensor& t) { return rsub(t, Scalar(1)); }
Tensor sigmoid_slope(const Tensor& y) { return mul(y, one_minus(y)); }
Tensor tanh_slope(const Tensor& y) { return one_minus(mul(y, y)); }

// The first rows are replaced, the others stay.
Tensor with_rows(const Tensor& all, const Tensor& first) {
  const int64_t rows = first.size(0), count = all.size(0);
  return rows == count ? first : cat({first, narrow(all, 0, rows, count - rows)}, 0);
}

void run_lstm(const RnnLayer& layer, const Tensor& gates, Step& s) {
  const std::vector<Tensor> parts = chunk(gates, 4, 1);
  s.i = sigmoid(parts[0]);
  s.f = sigmoid(parts[1]);
  s.g = tanh(parts[2]);
  s.o = sigmoid(parts[3]);
  s.next_c = add(mul(s.f, s.c), mul(s.i, s.g));
  s.tanh_c = tanh(s.next_c);
  s.unprojected = mul(s.o, s.tanh_c);
  s.next = layer.w_hr.defined() ? matmul(s.unprojected, t(layer.w_hr)) : s.unprojected;
}

void run_gru(const Tensor& from_input, const Tensor& from_state, Step& s) {
  const std::vector<Tensor> a = chunk(from_input, 3, 1), b = chunk(from_state, 3, 1);
  s.r = sigmoid(add(a[0], b[0]));
  s.z = sigmoid(add(a[1], b[1]));
  s.hidden_n = b[2];
  s.n = tanh(add(a[2], mul(s.r, b[2])));
  s.next = add(mul(sub(s.h, s.n), s.z), s.n);
}

StepGradients lstm_gradients(const RnnLayer& layer, const Step& s, const Tensor& grad, const Tensor& grad_c) {
  const Tensor m = layer.w_hr.defined() ? matmul(grad, layer.w_hr) : grad;
  const Tensor c = add(grad_c, mul(mul(m, s.o), tanh_slope(s.tanh_c)));
  const Tensor gates = cat({mul(mul(c, s.g), sigmoid_slope(s.i)), mul(mul(c, s.c), sigmoid_slope(s.f)),
                            mul(mul(c, s.i), tanh_slope(s.g)), mul(mul(m, s.tanh_c), sigmoid_slope(s.o))},
                           1);
  return {gates, gates, Tensor(), mul(c, s.f)};
}

StepGradients gru_gradients(const Step& s, const Tensor& grad) {
  const Tensor n = mul(mul(grad, one_minus(s.z)), tanh_slope(s.n));
  const Tensor z = mul(mul(grad, sub(s.h, s.n)), sigmoid_slope(s.z));
  const Tensor r = mul(mul(n, s.hidden_n), sigmoid_slope(s.r));
  return {cat({r, z, n}, 1), cat({r, z, mul(n, s.r)}, 1), mul(grad, s.z), Tensor()};
}

class Layer {
 public:
  explicit Layer(const RnnLayer& layer) : layer_(layer) {
    int64_t begin = 0;
    for (const int64_t rows : layer.batch) {
      steps_.push_back({});
      steps_.back().begin = begin;
      steps_.back().rows = rows;
      begin += rows;
    }
    if (layer.reverse) std::reverse(steps_.begin(), steps_.end());
    Tensor h = layer.hx, c = layer.cx;
    for (Step& s : steps_) {
      run(s, h, c);
      h = with_rows(h, s.next);
      if (c.defined()) c = with_rows(c, s.next_c);
    }
  }

  RnnGradients backward(const Tensor& grad_out, const Tensor& grad_hy, const Tensor& grad_cy) {
    Tensor h = grad_hy, c = grad_cy, w_hr;
    for (auto s = steps_.rbegin(); s != steps_.rend(); ++s) {
      const Tensor grad = add(narrow(h, 0, 0, s->rows), narrow(grad_out, 0, s->begin, s->rows));
      const StepGradients g = step_gradients(*s, grad, c);
      if (layer_.w_hr.defined()) {
        const Tensor part = matmul(t(grad), s->unprojected);
        w_hr = w_hr.defined() ? add(w_hr, part) : part;
      }
      Tensor before = matmul(g.state_gates, layer_.w_hh);
      if (g.h.defined()) before = add(before, g.h);
      h = with_rows(h, before);
      if (g.c.defined()) c = with_rows(c, g.c);
      gradients_.push_back(g);
    }
    // As the rows lie: the gradients are in the order of the loop, the steps in the other.
    std::reverse(gradients_.begin(), gradients_.end());
    std::vector<Tensor> input_gates, state_gates, states;
    for (size_t k = 0; k < steps_.size(); ++k) {
      const size_t i = layer_.reverse ? steps_.size() - 1 - k : k;
      input_gates.push_back(gradients_[i].input_gates);
      state_gates.push_back(gradients_[i].state_gates);
      states.push_back(steps_[i].h);
    }
    const Tensor from_input = cat(input_gates, 0), from_state = cat(state_gates, 0);
    RnnGradients out;
    out.input = matmul(from_input, layer_.w_ih);
    out.hx = h;
    out.cx = c;
    out.w_ih = matmul(t(from_input), layer_.input);
    out.w_hh = matmul(t(from_state), cat(states, 0));
    if (layer_.b_ih.defined()) {
      out.b_ih = sum(from_input, IntList{0});
      out.b_hh = sum(from_state, IntList{0});
    }
    out.w_hr = w_hr;
    return out;
  }

 private:
  void run(Step& s, const Tensor& h, const Tensor& c) const {
    s.h = narrow(h, 0, 0, s.rows);
    if (c.defined()) s.c = narrow(c, 0, 0, s.rows);
    const Tensor x = narrow(layer_.input, 0, s.begin, s.rows);
    const Tensor from_input = linear(x, layer_.w_ih, layer_.b_ih), from_state = linear(s.h, layer_.w_hh, layer_.b_hh);
    switch (layer_.mode) {
      case RnnMode::lstm:
        return run_lstm(layer_, add(from_input, from_state), s);
      case RnnMode::gru:
        return run_gru(from_input, from_state, s);
      case RnnMode::tanh:
        s.next = tanh(add(from_input, from_state));
        return;
      case RnnMode::relu:
        s.next = relu(add(from_input, from_state));
        return;
    }
  }

  StepGradients step_gradients(const Step& s, const Tensor& grad, const Tensor& c) const {
    if (layer_.mode == RnnMode::lstm) return lstm_gradients(layer_, s, grad, narrow(c, 0, 0, s.rows));
    if (layer_.mode == RnnMode::gru) return gru_gradients(s, grad);
    const Tensor gates =
        layer_.mode == RnnMode::tanh ? mul(grad, tanh_slope(s.next)) : mul(grad, gt(s.next, Scalar(0)));
    return {gates, gates, Tensor(), Tensor()};
  }

  const RnnLayer& layer_;
  std::vector<Step> steps_;
  std::vector<StepGradients> gradients_;
};

}  // namespace

RnnGradients rnn_backward_by_steps(const RnnLayer& layer, const Tensor& grad_out, const Tensor& grad_hy,
                                   const Tensor& grad_cy) {
  return Layer(layer).backward(grad_out, grad_hy, layer.mode == RnnMode::lstm ? grad_cy : Tensor());
}

}  // namespace sconce
