// Type refinement: types become as narrow as the values that flow into them.
//   %y : Tensor? = prim::If(%c)             %y : Tensor = prim::If(%c)
//     block0():                               ...
//       -> (%a)      # Tensor         =>
//     block1():
//       -> (%b)      # Tensor
// Likewise for the carried values of loops, tuples, items of tuples and lists, and calls. Lists and dicts keep their
// types: they are invariant, so a narrower one would not fit where they are used.
#include "sconce/passes/refine_types.h"

#include "sconce/ir/function.h"
#include "sconce/passes/analysis/rewrite.h"
#include "sconce/passes/passes.h"
#include "sconce/types/tensor_facts.h"

namespace sconce::passes {

TypePtr common_type(TypePtr a, TypePtr b) {
  if (is_subtype(a, b)) return b;
  if (is_subtype(b, a)) return a;
  if (a->is(TypeKind::tensor) && b->is(TypeKind::tensor) && a->tensor_facts() && b->tensor_facts()) {
    return refined_tensor_type(common_facts(*a->tensor_facts(), *b->tensor_facts()));
  }
  return nullptr;
}

namespace {

bool narrow(ir::Value* v, TypePtr type) {
  if (!type || type == v->type() || !is_subtype(type, v->type())) return false;
  // Fields of a named tuple are found by its name.
  if (v->type()->is(TypeKind::tuple) && !v->type()->fields().empty()) return false;
  v->set_type(type);
  return true;
}

bool refine(ir::Node& node);

bool refine_block(const ir::Block& block) {
  bool changed = false;
  for (ir::Node* node : block.nodes()) changed |= refine(*node);
  return changed;
}

// The type of a block's output; null when it is never there (the block raises).
TypePtr arriving_type(const ir::Block& block, size_t i) {
  const ir::Value* v = block.outputs()[i];
  return v->node()->is(ir::kind::Uninitialized) ? nullptr : v->type();
}

bool refine_if(ir::Node& node) {
  bool changed = refine_block(*node.block_at(0));
  changed |= refine_block(*node.block_at(1));
  for (size_t i = 0; i < node.outputs().size(); ++i) {
    const TypePtr a = arriving_type(*node.block_at(0), i), b = arriving_type(*node.block_at(1), i);
    const TypePtr type = a && b ? common_type(a, b) : a ? a : b;
    if (!narrow(node.output(i), type)) continue;
    changed = true;
    for (ir::Block* block : node.blocks()) {
      if (!is_subtype(block->outputs()[i]->type(), type)) {
        ir::Node* narrower = create_like(node, ir::kind::Uninitialized, {}, type);
        block->append(narrower);
        block->return_node()->set_input(i, narrower->output());
      }
    }
  }
  return changed;
}

// A carried value gets a narrower type when both the first and every next value have it, for all inputs.
bool refine_loop(ir::Node& loop) {
  const ir::Block& body = *loop.block_at(0);
  bool changed = refine_block(body);
  bool again = false;
  for (size_t i = 0; i < loop.outputs().size(); ++i) {
    const ir::Value* next = body.outputs()[i + 1];
    const TypePtr first = loop.input(i + 2)->type();
    const TypePtr type = next == body.inputs()[i + 1] ? first : common_type(first, next->type());
    again |= narrow(body.inputs()[i + 1], type);
    changed |= narrow(loop.output(i), type);
  }
  if (again) changed |= (refine_loop(loop), true);  // narrower each time, so this ends
  return changed;
}

bool refine_tuple(ir::Node& node) {
  std::vector<TypePtr> types;
  for (const ir::Value* v : node.inputs()) types.push_back(v->type());
  return narrow(node.output(), tuple_type(types));
}

bool refine_item(ir::Node& node, TypePtr tuple) {
  if (!tuple->is(TypeKind::tuple)) return false;
  const auto size = static_cast<int64_t>(tuple->contained().size());
  bool changed = false;
  if (node.is(ir::kind::TupleUnpack)) {
    for (size_t i = 0; i < node.outputs().size() && i < tuple->contained().size(); ++i) {
      changed |= narrow(node.output(i), tuple->contained()[i]);
    }
  } else if (const std::optional<int64_t> index = constant_int(node.input(1));
             index && *index >= -size && *index < size) {
    changed = narrow(node.output(), tuple->contained()[static_cast<size_t>(*index < 0 ? *index + size : *index)]);
  }
  return changed;
}

bool refine(ir::Node& node) {
  if (node.is(ir::kind::If)) return refine_if(node);
  if (node.is(ir::kind::Loop)) return refine_loop(node);
  bool changed = false;
  for (const ir::Block* block : node.blocks()) changed |= refine_block(*block);
  return changed | refine_node(node);
}

}  // namespace

bool refine_node(ir::Node& node) {
  if (node.is(ir::kind::TupleConstruct)) return refine_tuple(node);
  if (node.is(ir::kind::TupleUnpack) || node.is(ir::kind::TupleIndex)) return refine_item(node, node.input()->type());
  bool changed = false;
  if (node.callee() && node.callee()->has_schema() && node.outputs().size() == 1) {
    const Schema& schema = node.callee()->schema();
    if (schema.returns.size() == 1) changed |= narrow(node.output(), schema.returns[0].type);
  }
  if (node.is(ir::kind::ListUnpack) && node.input()->type()->is(TypeKind::list)) {
    for (ir::Value* v : node.outputs()) changed |= narrow(v, node.input()->type()->element());
  }
  // The element of the unwrapped type; list items are of the list's element type.
  static const ir::Symbol unwrap("aten::_unwrap_optional"), item("aten::__getitem__");
  const bool unwraps = node.is(unwrap) && node.input()->type()->is(TypeKind::optional);
  const bool takes = node.is(item) && node.input()->type()->is(TypeKind::list);
  if (unwraps || takes) changed |= narrow(node.output(), node.input()->type()->element());
  return changed;
}

bool refine_types(ir::Graph& graph) { return refine_block(*graph.block()); }

}  // namespace sconce::passes
