// Steps of SSA construction, in their order. Each has a file of its name.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "sconce/ir/graph.h"

namespace sconce::script {

// The variables that a loop carries, by storage name, in the order of its outputs.
using Carried = std::unordered_map<const ir::Node*, std::vector<std::string>>;

// Variables set in a branch or a loop body become outputs of the If or Loop: loads at the ends of the blocks, stores
// behind the node.
Carried carry_variables(ir::Graph& graph);
// break and continue become prim::LoopContinuation(next condition, carried...); the condition block moves into the body
// and in front of the loop.
void inline_loop_conditions(ir::Graph& graph, const Carried& carried);
// Loads become the values that were stored.
void resolve_variables(ir::Graph& graph);
// return, break and continue become flags, which guard the code behind them. With `raises_leave`, the code behind a
// raise in its block is dropped.
void transform_exits(ir::Graph& graph, bool raises_leave);
// Two Ifs in a row, the second decided by the first, become one.
void merge_ifs(ir::Graph& graph);
// A loop with a trip count and a condition becomes one with a condition and a counter of its own.
void canonicalize_loops(ir::Graph& graph);
// A nested function that is forked, or waited for later: nodes of the emitter, until lift_closures.
inline ir::Symbol fork_closure() {
  static const ir::Symbol symbol("prim::forkClosure");
  return symbol;
}
inline ir::Symbol awaitable_closure() {
  static const ir::Symbol symbol("prim::awaitableClosure");
  return symbol;
}
// Forked blocks and nested functions become graphs of their own.
void lift_closures(ir::Graph& graph);

// ---- shared ----

// The type of a value that is one or the other.
TypePtr merged_type(TypePtr a, TypePtr b);
// "x" of the storage names "x" and "x@3".
std::string_view variable_name(std::string_view storage);
// A node that calls the operator, in front of `before`.
ir::Value* insert_op(ir::Graph& graph, ir::Node* before, std::string_view name, ListRef<ir::Value*> inputs);

}  // namespace sconce::script
