#include "sconce/ir/effects.h"

#include <algorithm>

namespace sconce::ir {
namespace {

template <class F>
bool any_inside(const Node& node, F&& f) {
  for (const Block* block : node.blocks()) {
    for (const Node* n : block->nodes()) {
      if (f(*n)) return true;
    }
  }
  return false;
}

}  // namespace

bool is_mutable(TypePtr type) {
  switch (type->kind()) {
    case TypeKind::any:
    case TypeKind::tensor:
    case TypeKind::generator:
    case TypeKind::storage:
    case TypeKind::stream:
    case TypeKind::capsule:
    case TypeKind::py_object:
    case TypeKind::any_list:
    case TypeKind::any_tuple:
    case TypeKind::any_class:
    case TypeKind::list:
    case TypeKind::dict:
    case TypeKind::class_:
    case TypeKind::interface:
    case TypeKind::future:
    case TypeKind::rref:
    case TypeKind::await:
    case TypeKind::variable:
      return true;
    case TypeKind::optional:
    case TypeKind::union_:
    case TypeKind::tuple:
      return std::any_of(type->contained().begin(), type->contained().end(), is_mutable);
    default:
      return false;
  }
}

bool is_call(const Node& node) {
  switch (node.kind().id()) {
    case kind::CallFunction_id:
    case kind::CallMethod_id:
    case kind::Enter_id:
    case kind::Exit_id:
    case kind::fork_id:
    case kind::awaitable_id:
    case kind::awaitable_wait_id:
    case kind::awaitable_nowait_id:
    case kind::PythonOp_id:
    case kind::Closure_id:
      return true;
    default: {
      static const Symbol wait("aten::wait");
      return node.is(wait) || (node.op() && node.kind().space() == "python");  // a function of the host
    }
  }
}

bool may_write(const Node& node) {
  if (any_inside(node, [](const Node& n) { return may_write(n); })) return true;
  if (node.is(kind::SetAttr) || is_call(node)) return true;
  if (node.op()) return node.op()->schema().is_mutable();
  return has_side_effects(node) && node.blocks().empty() && !node.is(kind::Print) && !node.is(kind::RaiseException);
}

bool may_write(const Block& block) {
  for (const Node* n : block.nodes()) {
    if (may_write(*n)) return true;
  }
  return false;
}

bool has_side_effects(const Node& node) {
  switch (node.kind().id()) {
    case kind::Constant_id:
    case kind::ListConstruct_id:
    case kind::DictConstruct_id:
    case kind::TupleConstruct_id:
    case kind::ListUnpack_id:
    case kind::TupleUnpack_id:
    case kind::TupleIndex_id:
    case kind::TupleSlice_id:
    case kind::GetAttr_id:
    case kind::SetAttr_id:  // a write
    case kind::CreateObject_id:
    case kind::Uninitialized_id:
    case kind::unchecked_cast_id:
    case kind::isinstance_id:
    case kind::tolist_id:
    case kind::ModuleContainerIndex_id:
    case kind::EmptyListLiteral_id:
      return false;
    case kind::If_id:
    case kind::Loop_id:
      return any_inside(node, has_side_effects);
    case kind::Print_id:
    case kind::RaiseException_id:
      return true;
    default:
      break;
  }
  if (is_call(node) || !node.op()) return true;
  const Schema& schema = node.op()->schema();
  return schema.returns.empty() && !schema.is_varret && !schema.is_mutable();
}

bool is_nondeterministic(const Node& node) {
  if (is_call(node) || any_inside(node, is_nondeterministic)) return true;
  if (!node.op()) return false;
  if (node.op()->has(Trait::random)) return true;
  // Without arguments, a number or a text can only be a state of the program.
  const Schema& schema = node.op()->schema();
  return schema.arguments.empty() && !schema.is_vararg && !schema.returns.empty() &&
         !is_mutable(schema.returns[0].type);
}

}  // namespace sconce::ir
