#include "sconce/executor/tails.h"

#include <algorithm>

#include "sconce/executor/probe.h"
#include "sconce/tensor/strides.h"

namespace sconce::executor {
namespace {

// The dimension that the columns of a prepared call's result are; -1 if there is none that is sure.
int64_t column_dim(const Tensor& result, const PreparedCall& call) {
  for (int64_t d = result.dim() - 1; d >= 0; --d) {
    if (result.sizes()[d] == call.columns() && (result.strides()[d] == 1 || call.columns() == 1)) return d;
  }
  return -1;
}

// A value over the rows and columns of a result.
struct MatrixStrides {
  int64_t row, column;
};
std::optional<MatrixStrides> over_matrix(const Tensor& t, const Tensor& result, const PreparedCall& call) {
  if (t.sizes() == result.sizes() && t.strides() == result.strides()) return MatrixStrides{call.row_stride(), 1};
  if (t.dim() > result.dim()) return {};
  const Dims strides = expanded_strides(t.sizes(), t.strides(), result.sizes());
  const int64_t column = column_dim(result, call);
  for (int64_t d = 0; d < result.dim(); ++d) {
    if (d != column && result.sizes()[d] != 1 && strides[d] != 0) return {};
  }
  const int64_t step = column < 0 || call.columns() == 1 ? 0 : strides[column];
  if (step != 0 && step != 1) return {};
  return MatrixStrides{0, step};
}

bool is_inside(const std::vector<ValueId>& values, ValueId v) {
  return std::find(values.begin(), values.end(), v) != values.end();
}

}  // namespace

TailNodes find_tail(const TailQuery& q) {
  constexpr size_t kMostNodes = 16;
  const ValueId made = q.tape.nodes[q.node].results[0];
  const Tensor& result = q.tape.twin(made);
  std::vector<ValueId> inside = {made};
  std::vector<NodeId> nodes;
  size_t best = 0;
  // Whether nobody outside reads what is inside, but for the last value.
  const auto is_closed = [&] {
    for (size_t i = 0; i + 1 < inside.size(); ++i) {
      if (q.leaves[inside[i]]) return false;
      for (const NodeId user : q.users[inside[i]]) {
        if (std::find(nodes.begin(), nodes.end(), user) == nodes.end()) return false;
      }
    }
    return true;
  };
  while (nodes.size() < kMostNodes) {
    // The next node that reads something inside.
    NodeId next = kNone;
    for (const ValueId v : inside) {
      for (const NodeId user : q.users[v]) {
        if (std::find(nodes.begin(), nodes.end(), user) == nodes.end()) next = std::min(next, user);
      }
    }
    if (next == kNone || !q.loop_calls[next] || q.taken[next]) break;
    const TapeNode& node = q.tape.nodes[next];
    const ValueId out = node.results[0];
    const Tensor& twin = q.tape.twin(out);
    if (!(twin.sizes() == result.sizes()) || !(twin.strides() == result.strides())) break;
    bool fits = true;
    for (const ValueId v : node.pointwise->inputs) {
      fits = fits && (is_inside(inside, v) || over_matrix(q.tape.twin(v), result, q.call));
    }
    if (!fits) break;
    nodes.push_back(next);
    inside.push_back(out);
    if (twin.dtype() == result.dtype() && is_closed()) best = nodes.size();
  }
  nodes.resize(best);
  return {nodes, best == 0 ? made : q.tape.nodes[nodes.back()].results[0]};
}

TailNest build_tail(const TailQuery& q, const TailNodes& tail) {
  const ValueId made = q.tape.nodes[q.node].results[0];
  const Tensor& result = q.tape.twin(made);
  TailNest built;
  loops::Nest& nest = built.nest;
  nest.sizes = {q.call.rows(), q.call.columns()};
  const auto buffer_of = [&](ValueId v) -> uint16_t {
    for (size_t i = 0; i < built.values.size(); ++i) {
      if (built.values[i] == v) return static_cast<uint16_t>(i);
    }
    const MatrixStrides strides = *over_matrix(q.tape.twin(v), result, q.call);
    built.values.push_back(v);
    nest.buffers.push_back({q.tape.twin(v).dtype(), {strides.row, strides.column}, false});
    return static_cast<uint16_t>(built.values.size() - 1);
  };
  buffer_of(made);
  for (const NodeId n : tail.nodes) {
    loops::LoopCall call = *q.loop_calls[n];
    call.inputs.clear();
    for (const ValueId v : q.tape.nodes[n].pointwise->inputs) {
      const auto maker =
          std::find_if(tail.nodes.begin(), tail.nodes.end(), [&](NodeId m) { return q.tape.nodes[m].results[0] == v; });
      call.inputs.push_back(maker == tail.nodes.end()
                                ? loops::from_buffer(buffer_of(v))
                                : loops::from_call(static_cast<size_t>(maker - tail.nodes.begin())));
    }
    nest.calls.push_back(std::move(call));
  }
  const auto out = static_cast<uint16_t>(nest.buffers.size());
  nest.buffers.push_back({result.dtype(), {q.call.row_stride(), 1}, true});
  built.values.push_back(tail.result);
  nest.stores.push_back({static_cast<uint16_t>(nest.calls.size() - 1), out});
  return built;
}

}  // namespace sconce::executor
