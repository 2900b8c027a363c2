// Recurrent layers with packed weights: every product quantises its input by its extremes.
#include "sconce/base/error.h"
#include "sconce/dispatch/custom/custom_class.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/quantization_kernels.h"
#include "sconce/generated/quantized_kernels.h"
#include "sconce/kernels/quantized/packed_params.h"
#include "sconce/ops.h"

namespace sconce::quantized {
namespace {

struct Cell {
  const LinearParams &input, &hidden;
  bool reduce_range;
  Tensor from_input(const Tensor& x) const { return linear_dynamic(x, input, reduce_range, false); }
  Tensor from_hidden(const Tensor& h) const { return linear_dynamic(h, hidden, reduce_range, false); }
};

Cell cell_of(const CellParams& params) { return {*params.input, *params.hidden, params.reduce_range}; }

// Steps take what the input contributes, already multiplied.
struct LstmState {
  Tensor h, c;
};
// The gates of a cell, [batch, state] each, in `count` equal parts.
std::vector<Tensor> gates_of(const Tensor& all, int64_t count) {
  SCONCE_CHECK(all.dim() == 2 && all.size(1) > 0 && all.size(1) % count == 0,
               "quantized cell: expected {} gates of the same size in dimension 1, got a tensor of size {}", count,
               all.sizes());
  return sconce::chunk(all, count, 1);
}

LstmState lstm_step(const Tensor& gates_of_input, const LstmState& state, const Cell& cell) {
  const std::vector<Tensor> gates = gates_of(sconce::add(cell.from_hidden(state.h), gates_of_input), 4);
  const Tensor keep = sconce::mul(sconce::sigmoid(gates[1]), state.c);
  const Tensor c = sconce::add(keep, sconce::mul(sconce::sigmoid(gates[0]), sconce::tanh(gates[2])));
  return {sconce::mul(sconce::sigmoid(gates[3]), sconce::tanh(c)), c};
}

Tensor gru_step(const Tensor& gates_of_input, const Tensor& h, const Cell& cell) {
  const std::vector<Tensor> in = gates_of(gates_of_input, 3), own = gates_of(cell.from_hidden(h), 3);
  const Tensor reset = sconce::sigmoid(sconce::add(own[0], in[0])),
               update = sconce::sigmoid(sconce::add(own[1], in[1]));
  const Tensor fresh = sconce::tanh(sconce::add(in[2], sconce::mul(own[2], reset)));
  return sconce::add(sconce::mul(sconce::sub(h, fresh), update), fresh);
}

struct LstmKind {
  using State = LstmState;
  static State step(const Tensor& gates, const State& s, const Cell& cell) { return lstm_step(gates, s, cell); }
  static Tensor output(const State& s) { return s.h; }
  static State rows(const State& s, int64_t from, int64_t count) {
    return {sconce::narrow(s.h, 0, from, count), sconce::narrow(s.c, 0, from, count)};
  }
  static State joined(const std::vector<State>& parts) {
    std::vector<Tensor> h, c;
    for (const State& s : parts) {
      h.push_back(s.h);
      c.push_back(s.c);
    }
    return {sconce::cat(h, 0), sconce::cat(c, 0)};
  }
};
struct GruKind {
  using State = Tensor;
  static State step(const Tensor& gates, const State& s, const Cell& cell) { return gru_step(gates, s, cell); }
  static Tensor output(const State& s) { return s; }
  static State rows(const State& s, int64_t from, int64_t count) { return sconce::narrow(s, 0, from, count); }
  static State joined(const std::vector<State>& parts) { return sconce::cat(parts, 0); }
};

// One direction of a layer over x [steps, batch, width].
template <class Kind>
Tensor run_steps(const Tensor& x, typename Kind::State& state, const Cell& cell, bool backwards) {
  const std::vector<Tensor> gates = sconce::unbind(cell.from_input(x), 0);
  std::vector<Tensor> out(gates.size());
  for (size_t i = 0; i < gates.size(); ++i) {
    const size_t at = backwards ? gates.size() - 1 - i : i;
    state = Kind::step(gates[at], state, cell);
    out[at] = Kind::output(state);
  }
  return sconce::stack(out, 0);
}

// The same over packed sequences: step t has batch_sizes[t] rows, which never grow. The rows that end first are the
// last ones.
template <class Kind>
Tensor run_packed(const Tensor& data, IntList batch_sizes, typename Kind::State& state, const Cell& cell,
                  bool backwards) {
  using State = typename Kind::State;
  const std::vector<Tensor> gates = sconce::split_with_sizes(cell.from_input(data), batch_sizes, 0);
  std::vector<Tensor> out(gates.size());
  if (backwards) {
    const State start = state;
    State now = Kind::rows(start, 0, batch_sizes.back());
    for (size_t i = gates.size(); i-- > 0;) {
      const int64_t have = Kind::output(now).size(0), want = batch_sizes[i];
      if (want > have) now = Kind::joined({now, Kind::rows(start, have, want - have)});
      now = Kind::step(gates[i], now, cell);
      out[i] = Kind::output(now);
    }
    state = now;
    return sconce::cat(out, 0);
  }
  std::vector<State> ended;
  State now = state;
  for (size_t i = 0; i < gates.size(); ++i) {
    const int64_t have = Kind::output(now).size(0), want = batch_sizes[i];
    if (want < have) {
      ended.push_back(Kind::rows(now, want, have - want));
      now = Kind::rows(now, 0, want);
    }
    now = Kind::step(gates[i], now, cell);
    out[i] = Kind::output(now);
  }
  std::vector<State> all = {now};
  all.insert(all.end(), ended.rbegin(), ended.rend());
  state = Kind::joined(all);
  return sconce::cat(out, 0);
}

struct Options {
  int64_t layers;
  double dropout;
  bool train, bidirectional;
};

// x through all layers; states has one for each layer and direction.
template <class Kind>
Tensor run_layers(Tensor x, const std::vector<Value>& params, std::vector<typename Kind::State>& states,
                  const Options& options, std::optional<IntList> batch_sizes) {
  const size_t directions = options.bidirectional ? 2 : 1, count = static_cast<size_t>(options.layers) * directions;
  SCONCE_CHECK(options.layers >= 1 && params.size() == count && states.size() == count,
               "a quantised recurrent layer with {} layers and {} directions needs as many parameters and states, got "
               "{} and {}",
               options.layers, directions, params.size(), states.size());
  for (size_t layer = 0; layer < static_cast<size_t>(options.layers); ++layer) {
    std::vector<Tensor> outputs;
    for (size_t d = 0; d < directions; ++d) {
      const size_t at = layer * directions + d;
      const Cell cell = cell_of(instance<CellParams>(params[at]));
      outputs.push_back(batch_sizes ? run_packed<Kind>(x, *batch_sizes, states[at], cell, d == 1)
                                    : run_steps<Kind>(x, states[at], cell, d == 1));
    }
    x = directions == 1 ? outputs[0] : sconce::cat(outputs, -1);
    if (options.train && options.dropout > 0 && layer + 1 < static_cast<size_t>(options.layers))
      x = sconce::dropout(x, options.dropout, true);
  }
  return x;
}

std::vector<int64_t> checked_batch_sizes(const Tensor& t, const Tensor& data) {
  SCONCE_CHECK(t.dim() == 1 && t.dtype() == DType::int64 && t.numel() > 0,
               "batch_sizes should be a vector of int64 with at least one element");
  const Tensor list = contiguous_tensor(t);
  std::vector<int64_t> out(list.data<int64_t>(), list.data<int64_t>() + list.numel());
  int64_t sum = 0;
  for (size_t i = 0; i < out.size(); ++i) {
    SCONCE_CHECK(out[i] > 0 && (i == 0 || out[i] <= out[i - 1]), "batch_sizes must not grow and be more than 0");
    sum += out[i];
  }
  SCONCE_CHECK(data.dim() == 2 && sum == data.size(0), "batch_sizes add up to {}, the data is {}", sum, data.sizes());
  return out;
}

std::vector<Tensor> layers_of(const Tensor& state, int64_t batch, std::string_view what) {
  SCONCE_CHECK(state.dim() == 3 && state.size(1) == batch, "{} must be [layers, {}, width], got {}", what, batch,
               state.sizes());
  return sconce::unbind(state, 0);
}

struct Sequence {
  Tensor x;  // [steps, batch, width], or packed
  int64_t batch;
  std::vector<int64_t> batch_sizes;
  bool batch_first = false;
};

Sequence padded_sequence(const Tensor& input, bool batch_first) {
  SCONCE_CHECK(input.dim() == 3 && input.numel() > 0, "a quantised recurrent layer needs [steps, batch, width], got {}",
               input.sizes());
  const Tensor x = batch_first ? sconce::transpose(input, 0, 1) : input;
  return {x, x.size(1), {}, batch_first};
}
Sequence packed_sequence(const Tensor& data, const Tensor& batch_sizes) {
  std::vector<int64_t> sizes = checked_batch_sizes(batch_sizes, data);
  const int64_t batch = sizes[0];
  return {data, batch, std::move(sizes)};
}

std::optional<IntList> sizes_of(const Sequence& s) {
  return s.batch_sizes.empty() ? std::nullopt : std::optional(IntList(s.batch_sizes));
}

Tensor finished(const Tensor& y, const Sequence& s) { return s.batch_first ? sconce::transpose(y, 0, 1) : y; }

void run_lstm(const Sequence& s, TensorList hx, const std::vector<Value>& params, const Options& options,
              Value* returns) {
  SCONCE_CHECK(hx.size() == 2, "lstm expects two hidden states");
  const std::vector<Tensor> h = layers_of(hx[0], s.batch, "the hidden state"),
                            c = layers_of(hx[1], s.batch, "the cell state");
  SCONCE_CHECK(h.size() == c.size(), "lstm: hidden and cell states differ in their number of layers");
  std::vector<LstmState> states;
  for (size_t i = 0; i < h.size(); ++i) states.push_back({h[i], c[i]});
  const Tensor y = run_layers<LstmKind>(s.x, params, states, options, sizes_of(s));
  std::vector<Tensor> last_h, last_c;
  for (const LstmState& state : states) {
    last_h.push_back(state.h);
    last_c.push_back(state.c);
  }
  returns[0] = finished(y, s);
  returns[1] = sconce::stack(last_h, 0);
  returns[2] = sconce::stack(last_c, 0);
}

void run_gru(const Sequence& s, const Tensor& hx, const std::vector<Value>& params, const Options& options,
             Value* returns) {
  std::vector<Tensor> states = layers_of(hx, s.batch, "the hidden state");
  const Tensor y = run_layers<GruKind>(s.x, params, states, options, sizes_of(s));
  returns[0] = finished(y, s);
  returns[1] = sconce::stack(states, 0);
}

Options options_at(const Value* args) {
  return {args[0].to_int(), args[1].to_double(), args[2].to_bool(), args[3].to_bool()};
}

Cell cell_at(const Value* args) { return {instance<LinearParams>(args[0]), instance<LinearParams>(args[1]), true}; }

}  // namespace
}  // namespace sconce::quantized

namespace sconce::boxed {

using namespace quantized;

void quantized_make_quantized_cell_params_dynamic(const Op&, KeySet, Value* args, Value* returns) {
  auto params = std::make_shared<CellParams>();
  params->kind = "quantized_dynamic";
  params->input = instance_pointer<LinearParams>(args[0]);
  params->hidden = instance_pointer<LinearParams>(args[1]);
  params->input_bias = args[2].to_tensor();
  params->hidden_bias = args[3].to_tensor();
  params->reduce_range = args[4].to_bool();
  returns[0] = cell_value(std::move(params));
}

void quantized_make_quantized_cell_params_fp16(const Op&, KeySet, Value* args, Value* returns) {
  auto params = std::make_shared<CellParams>();
  params->kind = "quantized_fp16";
  params->input = instance_pointer<LinearParams>(args[0]);
  params->hidden = instance_pointer<LinearParams>(args[1]);
  returns[0] = cell_value(std::move(params));
}

void cell_tensors(const Op&, KeySet, Value* args, Value* returns) {
  auto parts = make_ref<List>(tensor_type());
  const auto add = [&](const LinearParams& p) {
    const Tensor rows = sconce::zeros({p.weight.size(0)});
    parts->append(p.is_half() ? p.weight : sconce::int_repr(p.weight));
    parts->append(p.is_half() ? rows : cpu::sconce_row_scales(p.weight, 0));
    parts->append(p.is_half() ? rows : cpu::sconce_row_zero_points(p.weight, 0));
    parts->append(p.bias.defined() ? p.bias : rows);
  };
  for (const Value& v : args[0].to_list().values()) {
    const auto& cell = instance<CellParams>(v);
    add(*cell.input);
    add(*cell.hidden);
  }
  returns[0] = std::move(parts);
}
void cell_flags(const Op&, KeySet, Value* args, Value* returns) {
  auto flags = make_ref<List>(bool_type());
  for (const Value& v : args[0].to_list().values()) flags->append(instance<CellParams>(v).reduce_range);
  returns[0] = std::move(flags);
}

// (input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)
void quantized_lstm_input(const Op&, KeySet, Value* args, Value* returns) {
  run_lstm(padded_sequence(args[0].to_tensor(), args[8].to_bool()), args[1].to_list().tensors(),
           args[2].to_list().values(), options_at(args + 4), returns);
}
// (data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional)
void quantized_lstm_data(const Op&, KeySet, Value* args, Value* returns) {
  run_lstm(packed_sequence(args[0].to_tensor(), args[1].to_tensor()), args[2].to_list().tensors(),
           args[3].to_list().values(), options_at(args + 5), returns);
}
void quantized_gru_input(const Op&, KeySet, Value* args, Value* returns) {
  run_gru(padded_sequence(args[0].to_tensor(), args[8].to_bool()), args[1].to_tensor(), args[2].to_list().values(),
          options_at(args + 4), returns);
}
void quantized_gru_data(const Op&, KeySet, Value* args, Value* returns) {
  run_gru(packed_sequence(args[0].to_tensor(), args[1].to_tensor()), args[2].to_tensor(), args[3].to_list().values(),
          options_at(args + 5), returns);
}

// (input, hx, w_ih, w_hh, b_ih, b_hh): the packed weights have the biases.
void quantized_quantized_lstm_cell_dynamic(const Op&, KeySet, Value* args, Value* returns) {
  const Cell cell = cell_at(args + 2);
  const TensorList hx = args[1].to_list().tensors();
  SCONCE_CHECK(hx.size() == 2, "lstm expects two hidden states");
  const LstmState state = lstm_step(cell.from_input(args[0].to_tensor()), {hx[0], hx[1]}, cell);
  returns[0] = state.h;
  returns[1] = state.c;
}
void quantized_quantized_gru_cell_dynamic(const Op&, KeySet, Value* args, Value* returns) {
  const Cell cell = cell_at(args + 2);
  const Tensor h = gru_step(cell.from_input(args[0].to_tensor()), args[1].to_tensor(), cell);
  returns[0] = h;
}
void quantized_quantized_rnn_relu_cell_dynamic(const Op&, KeySet, Value* args, Value* returns) {
  const Cell cell = cell_at(args + 2);
  const Tensor h =
      sconce::relu(sconce::add(cell.from_hidden(args[1].to_tensor()), cell.from_input(args[0].to_tensor())));
  returns[0] = h;
}
void quantized_quantized_rnn_tanh_cell_dynamic(const Op&, KeySet, Value* args, Value* returns) {
  const Cell cell = cell_at(args + 2);
  const Tensor h =
      sconce::tanh(sconce::add(cell.from_hidden(args[1].to_tensor()), cell.from_input(args[0].to_tensor())));
  returns[0] = h;
}

}  // namespace sconce::boxed
