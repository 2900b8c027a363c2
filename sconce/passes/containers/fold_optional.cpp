// None checks that types decide: queries of an Optional are folded when its type knows the answer
// (mostly after inlining).
//   %b : bool = aten::__is__(%x, %none)           =>  False          where %x : Tensor cannot be None
//   %y : Tensor = aten::_unwrap_optional(%x)      =>  %x             the same
//   %y : Tensor = prim::unchecked_cast(%x)        =>  %x             where %x is a Tensor already
//   %b : bool = prim::isinstance[types=[int]](%x) =>  True, False    where the type of %x decides
#include "sconce/passes/analysis/rewrite.h"
#include "sconce/passes/passes.h"

namespace sconce::passes {
namespace {

bool may_be_none(TypePtr type) {
  switch (type->kind()) {
    case TypeKind::none:
    case TypeKind::optional:
    case TypeKind::any:
    case TypeKind::variable:
      return true;
    case TypeKind::union_:
      for (TypePtr member : type->contained()) {
        if (may_be_none(member)) return true;
      }
      return false;
    default:
      return false;
  }
}

// Is a value of one of the types never of the other? Containers and interfaces are left open.
bool are_disjoint(TypePtr a, TypePtr b) {
  if (is_subtype(a, b) || is_subtype(b, a)) return false;
  const auto plain = [](TypePtr type) {
    switch (type->kind()) {
      case TypeKind::tensor:
      case TypeKind::int_:
      case TypeKind::float_:
      case TypeKind::complex:
      case TypeKind::bool_:
      case TypeKind::string:
      case TypeKind::none:
      case TypeKind::device:
      case TypeKind::class_:
      case TypeKind::enum_:
        return true;
      default:
        return false;
    }
  };
  const auto container = [](TypePtr type) {
    return type->is(TypeKind::list) || type->is(TypeKind::dict) || type->is(TypeKind::tuple);
  };
  if (plain(a)) return plain(b) || container(b);
  return container(a) && (plain(b) || (container(b) && a->kind() != b->kind()));
}

std::optional<bool> decide_isinstance(TypePtr type, const std::vector<TypePtr>& wanted) {
  if (type->is(TypeKind::optional) || type->is(TypeKind::union_)) {
    std::optional<bool> all;
    const auto add = [&](TypePtr member) {
      const std::optional<bool> one = decide_isinstance(member, wanted);
      if (!one || (all && *all != *one)) return false;
      all = one;
      return true;
    };
    if (type->is(TypeKind::optional) && !add(none_type())) return std::nullopt;
    for (TypePtr member : type->contained()) {
      if (!add(member)) return std::nullopt;
    }
    return all;
  }
  if (type->is(TypeKind::any) || type->is(TypeKind::variable)) return std::nullopt;
  bool disjoint = true;
  for (TypePtr w : wanted) {
    if (is_subtype(type, w)) return true;
    disjoint &= are_disjoint(type, w);
  }
  return disjoint ? std::optional(false) : std::nullopt;
}

struct Kinds {
  ir::Symbol is{"aten::__is__"}, isnot{"aten::__isnot__"};
  ir::Symbol unwrap{"aten::_unwrap_optional"}, unchecked_unwrap{"prim::unchecked_unwrap_optional"};
};

bool fold(ir::Node& node, const Kinds& kinds) {
  const ir::Symbol kind = node.kind();
  if (kind == kinds.is || kind == kinds.isnot) {
    const ir::Value *a = node.input(0), *b = node.input(1);
    if (!is_none(a)) std::swap(a, b);
    if (!is_none(a)) return false;
    const bool same = is_none(b);
    if (!same && may_be_none(b->type())) return false;
    replace_with_constant(node, same == (kind == kinds.is));
    return true;
  }
  if (kind == kinds.unwrap || kind == kinds.unchecked_unwrap) {
    if (may_be_none(node.input()->type())) return false;
    replace_node(node, node.input());
    return true;
  }
  if (kind == ir::kind::unchecked_cast) {
    if (!is_subtype(node.input()->type(), node.output()->type())) return false;
    replace_node(node, node.input());
    return true;
  }
  if (kind == ir::kind::isinstance) {
    const std::optional<bool> answer = decide_isinstance(node.input()->type(), node.types_attribute("types"));
    if (!answer) return false;
    replace_with_constant(node, *answer);
    return true;
  }
  return false;
}

}  // namespace

bool fold_optional(ir::Graph& graph) {
  static const Kinds kinds;
  bool changed = false;
  each_node(*graph.block(), [&](ir::Node& node) { changed |= fold(node, kinds); });
  return changed;
}

}  // namespace sconce::passes
