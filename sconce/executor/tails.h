// Epilogue fusion: which pointwise nodes run on the blocks of a prepared call while these are in the cache.
#pragma once

#include <memory>
#include <vector>

#include "sconce/dispatch/prepare.h"
#include "sconce/executor/tape.h"
#include "sconce/loops/nest.h"

namespace sconce::executor {

// Nodes behind a prepared call that are computed with it. All values inside are consumed inside, but for `result`.
struct TailNodes {
  std::vector<NodeId> nodes;  // pointwise; empty: none
  std::vector<NodeId> views;  // between them: the same memory with other sizes
  ValueId result = kNone;
  // What a view inside shows: a value of the call or of a node.
  std::vector<std::pair<ValueId, ValueId>> aliases;
  // The first of `nodes` that the call itself computes, in its epilogue, and the value that they make.
  size_t folded = 0;
  ValueId folded_result = kNone;
  ValueId root(ValueId v) const {
    for (const auto& [view, of] : aliases) {
      if (view == v) return of;
    }
    return v;
  }
};

// `call_of(node)` is the loop call of a pointwise node that may be fused, or null.
struct TailQuery {
  const Tape& tape;
  NodeId node;                        // the prepared one
  const PreparedCall& call;           // which is so
  const std::vector<Numbers>& users;  // of each value
  const std::vector<bool>& leaves;    // by value: it is part of the result, or somebody looks at its memory
  const std::vector<std::unique_ptr<loops::LoopCall>>& loop_calls;  // by node
  const std::vector<bool>& taken;                                   // by node: it is in another tail
  const std::vector<bool>& views;                                   // by node: it only shows memory
};
TailNodes find_tail(const TailQuery& query);

// Whether a tensor has one element for each column of the call's result, one behind the other, whatever the row.
// `node` is one of the tail.
bool is_row_operand(const TailQuery& query, NodeId node, ValueId v);

// The tail but for what is folded, as a nest of two sizes, and which value each buffer is; the first buffer is the
// result of the call, or of what is folded.
struct TailNest {
  loops::Nest nest;
  std::vector<ValueId> values;
};
TailNest build_tail(const TailQuery& query, const TailNodes& tail);

}  // namespace sconce::executor
