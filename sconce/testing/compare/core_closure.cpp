#include "sconce/testing/compare/core_closure.h"

#include "sconce/dispatch/entry.h"
#include "sconce/dispatch/schema.h"
#include "sconce/ir/graph.h"
#include "sconce/passes/analysis/op_graphs.h"

namespace sconce::testing {
namespace {

bool holds_tensors(const TypePtr& type) {
  if (type->is(TypeKind::tensor)) return true;
  if (type->is(TypeKind::list) || type->is(TypeKind::optional)) return holds_tensors(type->element());
  return false;
}

bool any_holds_tensors(const std::vector<Argument>& arguments) {
  for (const Argument& a : arguments) {
    if (holds_tensors(a.type)) return true;
  }
  return false;
}

}  // namespace

bool gives_tensors(const Op& op) { return any_holds_tensors(op.schema().returns); }

bool has_tensors(const Op& op) { return gives_tensors(op) || any_holds_tensors(op.schema().arguments); }

bool has_expressions(const Op& op) {
  const OpEntry* entry = op.info.entry;
  return entry && (!entry->pointwise().empty() || !entry->reductions().empty() || entry->number);
}

const std::set<const Op*>& CoreClosure::outside(const Op& op) {
  if (const auto at = known_.find(&op); at != known_.end()) return at->second;
  if (!open_.insert(&op).second) return circles_[&op] = {&op};
  std::set<const Op*> out = found(op);
  open_.erase(&op);
  return known_[&op] = std::move(out);
}

std::set<const Op*> CoreClosure::found(const Op& op) {
  if (op.has(Trait::core) || has_expressions(op) || !has_tensors(op)) return {};
  if (op.schema().is_mutable()) {
    const Op* twin = functional_twin(op);
    if (twin && !open_.contains(twin)) return outside(*twin);
    return {&op};
  }
  if (!gives_tensors(op)) return {};
  const ir::Graph* graph = passes::op_graphs()->decomposition(op);
  if (!graph) graph = passes::op_graphs()->body(op);
  if (!graph) return {&op};
  std::set<const Op*> out;
  visit(*graph->block(), out);
  return out;
}

void CoreClosure::visit(const ir::Block& block, std::set<const Op*>& out) {
  for (const ir::Node* node : block.nodes()) {
    for (const ir::Block* inner : node->blocks()) visit(*inner, out);
    if (!node->op()) continue;  // control flow, constants, lists
    const std::set<const Op*>& parts = outside(*node->op());
    out.insert(parts.begin(), parts.end());
  }
}

}  // namespace sconce::testing
