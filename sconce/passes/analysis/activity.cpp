#include "sconce/passes/analysis/activity.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>

#include "sconce/dispatch/formula.h"
#include "sconce/ir/effects.h"
#include "sconce/passes/analysis/op_graphs.h"
#include "sconce/types/tensor_facts.h"

namespace sconce::passes {
namespace {

// Of a type that says so: integers and bools have no gradient.
bool has_no_gradient(TypePtr type) {
  const TensorFacts* facts = type->is(TypeKind::tensor) ? type->tensor_facts() : nullptr;
  return facts && facts->dtype && !is_floating(*facts->dtype) && !is_complex(*facts->dtype);
}

bool returns_tensors(const Schema& schema) {
  return schema.is_varret || std::any_of(schema.returns.begin(), schema.returns.end(),
                                         [](const Argument& r) { return may_hold_tensor(r.type); });
}

// Loops over elements that give integers or bools: they call no operators and have no formulas.
bool gives_numbers(const Op& op) {
  return op.info.gradient == Gradient::through && !op.info.texts.body &&
         (op.has(Trait::pointwise) || op.has(Trait::reduction));
}

// The answer of such an operator depends on whether operations are recorded, which differs inside of a region.
bool asks_autograd(const ir::Node& node) { return node.op() && node.op()->has(Trait::asks_autograd); }

// Made in this graph by an operator that returns something new (and written since at most by in-place operators), or a
// list without tensors.
bool is_private(const ir::Value* v) {
  const ir::Node& node = *v->node();
  if (node.is(ir::kind::ListConstruct)) return !may_hold_tensor(v->type());
  if (!node.op() || node.op()->schema().is_varret) return false;
  const Schema& schema = node.op()->schema();
  if (!schema.returns[v->offset()].alias) return !node.op()->has(Trait::view) && !node.op()->has(Trait::compound);
  return schema.is_mutable() && !node.inputs().empty() && is_private(node.input());
}

bool writes_private_values(const ir::Node& node) {
  const Schema& schema = node.op()->schema();
  for (size_t i = 0; i < node.inputs().size() && i < schema.arguments.size(); ++i) {
    if (schema.arguments[i].is_written() && !is_private(node.input(i))) return false;
  }
  return true;
}

bool has_graphs(const Op& op) {
  if (!op_graphs()) return false;
  const std::vector<FormulaGraph>* all = op_graphs()->formulas(op);
  if (!all) return false;
  // Results that are lists are not kept.
  for (const FormulaGraph& f : *all) {
    for (const FormulaGraph::Input& in : f.inputs) {
      if (in.kind == FormulaGraph::Input::Kind::result && is_tensor_list(op.schema().returns[in.index].type))
        return false;
    }
  }
  return true;
}

// Can the body be differentiated for all of its tensors?
bool has_differentiable_body(const Op& op) {
  static std::recursive_mutex mutex;
  static std::unordered_map<const Op*, bool> known;
  const std::lock_guard lock(mutex);
  const auto [at, is_new] = known.try_emplace(&op, false);  // an operator that calls itself cannot
  if (!is_new || !op_graphs()) return at->second;
  const ir::Graph* body = op_graphs()->body(op);
  if (!body) return false;
  const Activity active(*body, std::vector<bool>(body->inputs().size(), true));
  bool all = true;
  for (const ir::Node* node : body->nodes()) all = all && is_differentiable(*node, active);
  return known[&op] = all;
}

// Lists of active tensors that it takes are written down in the same block, those that it gives are taken apart there.
bool has_plain_lists(const ir::Node& node, const Activity& active) {
  for (const ir::Value* v : node.inputs()) {
    if (!active(v) || v->type()->is(TypeKind::tensor) || v->type()->is(TypeKind::optional)) continue;
    if (!is_tensor_list(v->type()) || !v->node()->is(ir::kind::ListConstruct) || v->node()->block() != node.block()) {
      return false;
    }
  }
  for (const ir::Value* v : node.outputs()) {
    if (!active(v) || v->type()->is(TypeKind::tensor)) continue;
    if (!is_tensor_list(v->type())) return false;
    for (const ir::Use& use : v->uses()) {
      if (!use.user->is(ir::kind::ListUnpack) || use.user->block() != node.block()) return false;
    }
  }
  return true;
}

bool is_differentiable_op(const ir::Node& node, const Activity& active) {
  const Op& op = *node.op();
  if (ir::is_call(node) || ir::has_side_effects(node) || asks_autograd(node)) return false;
  if (ir::is_nondeterministic(node) && !op.has(Trait::random)) return false;
  const bool follows = active.any_input(node);
  if (op.schema().is_mutable()) return !follows && writes_private_values(node);
  if (!follows || op.info.gradient == Gradient::none || !returns_tensors(op.schema()) || gives_numbers(op)) return true;
  if (!has_plain_lists(node, active)) return false;
  if (op.info.gradient == Gradient::formulas) return has_graphs(op);
  return is_expandable(node);
}

bool blocks_are_differentiable(const ir::Node& node, const Activity& active) {
  for (const ir::Value* v : node.outputs()) {
    if (active(v) && !v->type()->is(TypeKind::tensor)) return false;
  }
  for (const ir::Block* block : node.blocks()) {
    for (const ir::Value* v : block->inputs()) {
      if (active(v) && !v->type()->is(TypeKind::tensor)) return false;
    }
    for (const ir::Node* inner : block->nodes()) {
      if (!is_differentiable(*inner, active)) return false;
    }
  }
  return true;
}

}  // namespace

bool may_hold_tensor(TypePtr type) {
  switch (type->kind()) {
    case TypeKind::tensor:
    case TypeKind::any:
    case TypeKind::class_:
    case TypeKind::interface:
    case TypeKind::future:
    case TypeKind::any_list:
    case TypeKind::any_tuple:
    case TypeKind::any_class:
    case TypeKind::py_object:
    case TypeKind::variable:
      return true;
    case TypeKind::optional:
    case TypeKind::union_:
    case TypeKind::tuple:
    case TypeKind::list:
    case TypeKind::dict:
      return std::any_of(type->contained().begin(), type->contained().end(), may_hold_tensor);
    default:
      return false;
  }
}

bool is_tensor_list(TypePtr type) { return type->is(TypeKind::list) && type->element()->is(TypeKind::tensor); }

Activity::Activity(const ir::Graph& graph, const std::vector<bool>& inputs) {
  for (size_t i = 0; i < graph.inputs().size(); ++i) mark(graph.inputs()[i], inputs[i]);
  while (visit(*graph.block())) {
  }
}

bool Activity::any_input(const ir::Node& node) const {
  return std::any_of(node.inputs().begin(), node.inputs().end(), [&](const ir::Value* v) { return (*this)(v); });
}
bool Activity::any_output(const ir::Node& node) const {
  return std::any_of(node.outputs().begin(), node.outputs().end(), [&](const ir::Value* v) { return (*this)(v); });
}

bool Activity::mark(const ir::Value* v, bool active) {
  return active && may_hold_tensor(v->type()) && !has_no_gradient(v->type()) && active_.insert(v).second;
}

// True when something new became active, so that a loop around must be looked at again.
bool Activity::visit(const ir::Block& block) {
  bool changed = false;
  for (const ir::Node* node : block.nodes()) changed |= visit(*node);
  return changed;
}

bool Activity::visit(const ir::Node& node) {
  bool changed = false;
  switch (node.kind().id()) {
    case ir::kind::Constant_id:
    case ir::kind::Uninitialized_id:
      return false;
    case ir::kind::If_id:
      for (const ir::Block* block : node.blocks()) {
        changed |= visit(*block);
        for (size_t i = 0; i < node.outputs().size(); ++i)
          changed |= mark(node.output(i), (*this)(block->outputs()[i]));
      }
      return changed;
    case ir::kind::Loop_id: {
      const ir::Block& body = *node.block_at(0);
      for (size_t i = 0; i < node.outputs().size(); ++i) {
        changed |= mark(body.inputs()[i + 1], (*this)(node.input(i + 2)) || (*this)(body.outputs()[i + 1]));
      }
      changed |= visit(body);
      for (size_t i = 0; i < node.outputs().size(); ++i) {
        changed |= mark(node.output(i), (*this)(node.input(i + 2)) || (*this)(body.outputs()[i + 1]));
      }
      return changed;
    }
    case ir::kind::ListConstruct_id:
    case ir::kind::TupleConstruct_id:
    case ir::kind::DictConstruct_id:
    case ir::kind::ListUnpack_id:
    case ir::kind::TupleUnpack_id:
    case ir::kind::TupleIndex_id:
    case ir::kind::TupleSlice_id:
    case ir::kind::unchecked_cast_id:
      for (const ir::Value* v : node.outputs()) changed |= mark(v, any_input(node));
      return changed;
    default:
      break;
  }
  for (const ir::Block* block : node.blocks()) changed |= visit(*block);
  const Op* op = node.op();
  for (const ir::Value* v : node.outputs()) {
    bool flows = true;
    if (op && !ir::is_call(node)) {
      flows = any_input(node) && op->info.gradient != Gradient::none && !gives_numbers(*op);
      if (op->info.gradient == Gradient::formulas) {
        flows = flows && v->offset() < 32 && (op->info.formulas->differentiable >> v->offset() & 1);
      }
    }
    changed |= mark(v, flows);
  }
  return changed;
}

bool is_differentiable(const ir::Node& node, const Activity& active) {
  switch (node.kind().id()) {
    case ir::kind::Constant_id:
    case ir::kind::Uninitialized_id:
    case ir::kind::RaiseException_id:
      return true;
    case ir::kind::unchecked_cast_id:
      return !active(node.output()) || node.output()->type()->is(TypeKind::tensor);
    case ir::kind::If_id:
    case ir::kind::Loop_id:
      return blocks_are_differentiable(node, active);
    case ir::kind::ListConstruct_id:
      return !active(node.output()) || is_tensor_list(node.output()->type());
    case ir::kind::ListUnpack_id:
      return !active(node.input()) || (is_tensor_list(node.input()->type()) && node.input()->node()->op() &&
                                       node.input()->node()->block() == node.block());
    default:
      return node.op() && is_differentiable_op(node, active);
  }
}

bool is_expandable(const ir::Node& node) {
  return node.op() && node.op()->info.texts.body && node.op()->info.gradient == Gradient::through &&
         has_differentiable_body(*node.op());
}

bool shares_memory(const ir::Value* v) {
  const ir::Node& node = *v->node();
  if (node.is(ir::kind::ListConstruct) || node.is(ir::kind::ListUnpack) || node.is(ir::kind::unchecked_cast))
    return true;
  if (!node.op() || node.op()->schema().is_varret) return false;
  return node.op()->has(Trait::view) || node.op()->schema().returns[v->offset()].alias.has_value();
}

}  // namespace sconce::passes
