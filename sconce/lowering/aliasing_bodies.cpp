#include "sconce/lowering/aliasing_bodies.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>

#include "sconce/ir/alias.h"
#include "sconce/ir/effects.h"
#include "sconce/lowering/origins.h"
#include "sconce/lowering/splice.h"
#include "sconce/passes/analysis/op_graphs.h"
#include "sconce/passes/analysis/rewrite.h"
#include "sconce/passes/passes.h"

namespace sconce::lowering {
namespace {

constexpr int kDeepest = 8;  // bodies within bodies

bool may_be_argument(const Op& op);

// May the value be an input of the graph, or share its memory?
bool may_be_input(const ir::Value* v) {
  if (!ir::is_mutable(v->type())) return false;
  const ir::Node& node = *v->node();
  if (node.is(ir::kind::Param)) {
    const ir::Node* owner = node.block()->owner();
    if (!owner) return true;
    return v->offset() > 0 && may_be_input(owner->input(v->offset() + 1));
  }
  if (node.is(ir::kind::Constant)) return false;
  const auto given = [&] { return std::ranges::any_of(node.inputs(), may_be_input); };
  if (node.is(ir::kind::If)) {
    return std::ranges::any_of(node.blocks(),
                               [&](const ir::Block* b) { return may_be_input(b->outputs()[v->offset()]); });
  }
  if (node.is(ir::kind::Loop)) {
    return may_be_input(node.input(v->offset() + 2)) || may_be_input(node.block_at(0)->outputs()[v->offset() + 1]);
  }
  if (!node.op() || ir::is_call(node)) return given();
  const bool aliased =
      v->offset() < node.op()->schema().returns.size() && node.op()->schema().returns[v->offset()].alias.has_value();
  return (aliased || may_be_argument(*node.op())) && given();
}

// Of an operator with a body; true as well while its body is being looked at, for one that calls itself.
bool may_be_argument(const Op& op) {
  static std::recursive_mutex mutex;
  static auto& known = *new std::unordered_map<const Op*, bool>;  // never destroyed, as operators are not
  if (!op.has(Trait::compound)) return false;
  const std::lock_guard lock(mutex);
  const auto [at, is_new] = known.try_emplace(&op, true);
  if (!is_new) return at->second;
  const ir::Graph* body = passes::op_graphs()->body(op);
  return known[&op] = body && std::ranges::any_of(body->outputs(), may_be_input);
}

bool is_aliasing(const ir::Node& node) {
  const Op* op = node.op();
  return op && !ir::is_call(node) && op->has(Trait::compound) && !op->schema().is_mutable() && may_be_argument(*op);
}

}  // namespace

bool expand_aliasing_bodies(ir::Graph& graph) {
  bool changed = false;
  for (int depth = 0; depth < kDeepest; ++depth) {
    const ir::AliasFacts facts(graph);
    std::vector<ir::Node*> found;
    passes::each_node(*graph.block(), [&](ir::Node& node) {
      if (is_aliasing(node) && facts.has_writers(&node)) found.push_back(&node);
    });
    if (found.empty()) break;
    for (ir::Node* node : found) replace_by(*node, *passes::op_graphs()->body(*node->op()));
    passes::constant_propagation(graph);
    passes::dead_code(graph);
    changed = true;
  }
  return changed;
}

}  // namespace sconce::lowering
