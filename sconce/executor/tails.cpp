#include "sconce/executor/tails.h"

#include <algorithm>

#include "sconce/executor/probe.h"
#include "sconce/tensor/strides.h"

namespace sconce::executor {
namespace {

// Whether a tensor is the rows and columns of the call's result, one behind the other: in the geometry of that result,
// or contiguous with rows of the same length.
bool is_matrix(const Tensor& t, const Tensor& result, const PreparedCall& call) {
  if (t.sizes() == result.sizes() && t.strides() == result.strides()) return true;
  return t.is_contiguous() && result.is_contiguous() && t.numel() == result.numel() && t.dim() > 0 &&
         t.size(-1) == call.columns();
}

// The dimension that the columns are; -1 if there is none that is sure.
int64_t column_dim(const Tensor& matrix, const PreparedCall& call) {
  for (int64_t d = matrix.dim() - 1; d >= 0; --d) {
    if (matrix.sizes()[d] == call.columns() && (matrix.strides()[d] == 1 || call.columns() == 1)) return d;
  }
  return -1;
}

// An operand over the rows and columns of `matrix`.
struct MatrixStrides {
  int64_t row, column;
};
std::optional<MatrixStrides> over_matrix(const Tensor& t, const Tensor& matrix, const PreparedCall& call) {
  if (t.sizes() == matrix.sizes() && t.strides() == matrix.strides()) return MatrixStrides{call.row_stride(), 1};
  if (t.dim() > matrix.dim()) return {};
  const Dims strides = expanded_strides(t.sizes(), t.strides(), matrix.sizes());
  const int64_t column = column_dim(matrix, call);
  for (int64_t d = 0; d < matrix.dim(); ++d) {
    if (d != column && matrix.sizes()[d] != 1 && strides[d] != 0) return {};
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
  TailNodes tail, best;
  best.result = made;
  std::vector<ValueId> inside = {made};
  const auto has = [&](NodeId n) {
    return std::find(tail.nodes.begin(), tail.nodes.end(), n) != tail.nodes.end() ||
           std::find(tail.views.begin(), tail.views.end(), n) != tail.views.end();
  };
  // Whether nobody outside reads what is inside, but for the last value.
  const auto is_closed = [&] {
    for (size_t i = 0; i + 1 < inside.size(); ++i) {
      if (q.leaves[inside[i]]) return false;
      for (const NodeId user : q.users[inside[i]]) {
        if (!has(user)) return false;
      }
    }
    return true;
  };
  while (tail.nodes.size() < kMostNodes && inside.size() < 2 * kMostNodes) {
    // The next node that reads something inside.
    NodeId next = kNone;
    for (const ValueId v : inside) {
      for (const NodeId user : q.users[v]) {
        if (!has(user)) next = std::min(next, user);
      }
    }
    if (next == kNone || q.taken[next]) break;
    const TapeNode& node = q.tape.nodes[next];
    if (node.results.size() != 1) break;
    const ValueId out = node.results[0];
    const Tensor& twin = q.tape.twin(out);
    if (q.views[next]) {
      const ValueId of = node.uses[0].value;
      if (node.uses.size() != 1 || twin.dtype() != q.tape.twin(of).dtype() || !is_matrix(twin, result, q.call) ||
          q.tape.values[out].offset != q.tape.values[of].offset)
        break;
      tail.views.push_back(next);
      tail.aliases.emplace_back(out, tail.root(of));
      inside.push_back(out);
      continue;
    }
    if (!q.loop_calls[next] || !is_matrix(twin, result, q.call)) break;
    bool fits = true;
    for (const ValueId v : node.pointwise->inputs) {
      fits = fits &&
             (is_inside(inside, v) ? is_matrix(q.tape.twin(v), result, q.call) && q.tape.twin(v).sizes() == twin.sizes()
                                   : over_matrix(q.tape.twin(v), twin, q.call).has_value());
    }
    if (!fits) break;
    tail.nodes.push_back(next);
    inside.push_back(out);
    if (twin.dtype() == result.dtype() && is_closed()) {
      best = tail;
      best.result = out;
    }
  }
  return best;
}

bool is_row_operand(const TailQuery& q, NodeId node, ValueId v) {
  const std::optional<MatrixStrides> strides =
      over_matrix(q.tape.twin(v), q.tape.twin(q.tape.nodes[node].results[0]), q.call);
  return strides && strides->row == 0 && strides->column == 1;
}

TailNest build_tail(const TailQuery& q, const TailNodes& tail) {
  const ValueId made = tail.folded == 0 ? q.tape.nodes[q.node].results[0] : tail.folded_result;
  const std::span<const NodeId> nodes = std::span(tail.nodes).subspan(tail.folded);
  const Tensor& result = q.tape.twin(made);
  TailNest built;
  loops::Nest& nest = built.nest;
  nest.sizes = {q.call.rows(), q.call.columns()};
  // `matrix`: the sizes in which a node sees the result.
  const auto buffer_of = [&](ValueId v, const Tensor& matrix) -> uint16_t {
    for (size_t i = 0; i < built.values.size(); ++i) {
      if (built.values[i] == v) return static_cast<uint16_t>(i);
    }
    const MatrixStrides strides =
        v == made ? MatrixStrides{q.call.row_stride(), 1} : *over_matrix(q.tape.twin(v), matrix, q.call);
    built.values.push_back(v);
    nest.buffers.push_back({q.tape.twin(v).dtype(), {strides.row, strides.column}, false});
    return static_cast<uint16_t>(built.values.size() - 1);
  };
  buffer_of(made, result);
  for (const NodeId n : nodes) {
    const TapeNode& node = q.tape.nodes[n];
    loops::LoopCall call = *q.loop_calls[n];
    call.inputs.clear();
    for (const ValueId given : node.pointwise->inputs) {
      const ValueId v = tail.root(given);
      const auto maker =
          std::find_if(nodes.begin(), nodes.end(), [&](NodeId m) { return q.tape.nodes[m].results[0] == v; });
      call.inputs.push_back(maker == nodes.end() ? loops::from_buffer(buffer_of(v, q.tape.twin(node.results[0])))
                                                 : loops::from_call(static_cast<size_t>(maker - nodes.begin())));
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
