#include "sconce/codegen/tiles/tile_graph.h"

#include "sconce/kernels/cpu/engine/iterate.h"

namespace sconce::codegen {

using loops::LoopCall;
using loops::Nest;
using loops::Source;

Compute compute_of(const LoopCall& call) {
  const Compute compute = compute_type(call.common);
  if (compute == Compute::u8 && call.loops->loops[0][static_cast<int>(compute)] == nullptr) return Compute::i32;
  return compute;
}

DType compute_dtype(Compute compute) {
  constexpr DType kDTypes[kComputeTypes] = {DType::float32, DType::float64,   DType::int32,     DType::int64,
                                            DType::bool_,   DType::complex64, DType::complex128};
  return kDTypes[static_cast<int>(compute)];
}

int lanes_of(Compute compute) { return 64 / static_cast<int>(item_size(compute_dtype(compute))); }

namespace {

class Lowering {
 public:
  Lowering(const Nest& nest, uint32_t uniform_buffers) : nest_(nest), uniform_buffers_(uniform_buffers) {}

  TileGraph run() {
    for (size_t k = 0; k < nest_.calls.size(); ++k) calls_.push_back(lower_call(k));
    for (const loops::Store& s : nest_.stores) graph_.stores.push_back({calls_[s.call], s.buffer});
    return std::move(graph_);
  }

 private:
  uint16_t add(const TileValue& value) {
    graph_.values.push_back(value);
    return static_cast<uint16_t>(graph_.values.size() - 1);
  }

  uint16_t source(Source s) {
    if (s.kind == Source::call) return calls_[s.number];
    for (size_t v = 0; v < graph_.values.size(); ++v) {
      const TileValue& value = graph_.values[v];
      if (value.kind == TileValue::buffer && value.number == s.number) return static_cast<uint16_t>(v);
    }
    TileValue value{TileValue::buffer, nest_.buffers[s.number].dtype, s.number};
    value.uniform = uniform_buffers_ >> s.number & 1;
    return add(value);
  }

  uint16_t convert(uint16_t from, DType to) {
    if (graph_.values[from].dtype == to) return from;
    for (size_t v = 0; v < graph_.values.size(); ++v) {
      const TileValue& value = graph_.values[v];
      if (value.kind == TileValue::convert && value.inputs[0] == from && value.dtype == to)
        return static_cast<uint16_t>(v);
    }
    TileValue value{TileValue::convert, to};
    value.uniform = graph_.values[from].uniform;
    value.inputs.push_back(from);
    return add(value);
  }

  // As run_pointwise does: operands through the common dtype, the result rounded to it before it is stored.
  uint16_t lower_call(size_t number) {
    const LoopCall& call = nest_.calls[number];
    if (call.is_conversion()) return convert(source(call.inputs[0]), call.result);
    const Compute compute = compute_of(call);
    TileValue value{TileValue::call, compute_dtype(compute), static_cast<uint16_t>(number), compute, true};
    for (size_t k = 0; k < call.inputs.size(); ++k) {
      uint16_t in = source(call.inputs[k]);
      if (call.loops->mask_inputs >> k & 1) {
        if (graph_.values[in].dtype != DType::uint8) in = convert(in, DType::bool_);
      } else {
        in = convert(convert(in, call.common), compute_dtype(compute));
      }
      value.inputs.push_back(in);
      value.uniform &= graph_.values[in].uniform;
    }
    DType result = call.common;
    if (call.loops->result == LoopResult::boolean) value.dtype = result = DType::bool_;
    if (call.loops->result == LoopResult::real) value.dtype = real_dtype(value.dtype), result = real_dtype(result);
    return convert(convert(add(value), result), call.result);
  }

  const Nest& nest_;
  uint32_t uniform_buffers_;
  TileGraph graph_;
  std::vector<uint16_t> calls_;  // the value of each
};

}  // namespace

TileGraph lower(const Nest& nest, uint32_t uniform_buffers) { return Lowering(nest, uniform_buffers).run(); }

}  // namespace sconce::codegen
