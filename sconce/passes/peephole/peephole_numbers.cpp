// Peephole rules for numbers. An operator is known by its expression in the operator table; an identity is one
// of its operation:
//   a + 0, a - 0, a * 1, a // 1, a | 0, not not a, -(-a), int(a) of an int, a == a of an int, ...  =>  a, True, False
// Floats keep their zeros and their nans: only a - 0, a * 1 and a / 1 are the same number.
#include "sconce/dispatch/entry.h"
#include "sconce/passes/analysis/rewrite.h"
#include "sconce/passes/peephole/peephole.h"

namespace sconce::passes {
namespace {

struct Identity {
  StepKind operation;  // of a and b
  double neutral;      // for b
  bool either_side;    // for a, too
  bool floats;         // also for floats
};
constexpr Identity kIdentities[] = {
    {StepKind::add, 0, true, false},          {StepKind::sub, 0, false, true},
    {StepKind::mul, 1, true, true},           {StepKind::div, 1, false, true},
    {StepKind::floor_div, 1, false, false},   {StepKind::bit_or, 0, true, false},
    {StepKind::bit_xor, 0, true, false},      {StepKind::shift_left, 0, false, false},
    {StepKind::shift_right, 0, false, false},
};

bool is_number(const ir::Value* v, double wanted) {
  const std::optional<sconce::Value> c = ir::constant_value(v);
  if (!c) return false;
  if (c->is_int()) return static_cast<double>(c->to_int()) == wanted;
  if (c->is_bool()) return c->to_bool() == (wanted != 0);
  return c->is_double() && c->to_double() == wanted;
}

bool has_exact_equality(TypePtr type) {
  return type->is(TypeKind::int_) || type->is(TypeKind::bool_) || type->is(TypeKind::string);
}

// a OP neutral.
bool simplify_arithmetic(ir::Node& node, StepKind operation) {
  for (const Identity& rule : kIdentities) {
    if (rule.operation != operation) continue;
    for (size_t side = 0; side < (rule.either_side ? 2 : 1); ++side) {
      ir::Value* kept = node.input(side);
      const TypePtr type = node.output()->type();
      if (kept->type() != type || !is_number(node.input(1 - side), rule.neutral)) continue;
      if (type->is(TypeKind::float_) ? !rule.floats : !type->is(TypeKind::int_) && !type->is(TypeKind::bool_)) continue;
      replace_node(node, kept);
      return true;
    }
    return false;
  }
  return false;
}

// a OP a.
bool simplify_comparison(ir::Node& node, StepKind operation) {
  if (node.input(0) != node.input(1) || !has_exact_equality(node.input()->type())) return false;
  const bool holds = operation == StepKind::eq || operation == StepKind::le || operation == StepKind::ge;
  const bool fails = operation == StepKind::ne || operation == StepKind::lt || operation == StepKind::gt;
  if (holds || fails) replace_with_constant(node, holds);
  return holds || fails;
}

bool simplify_unary(ir::Node& node, StepKind operation) {
  const bool converts =
      operation == StepKind::to_int || operation == StepKind::to_float || operation == StepKind::to_bool;
  ir::Value* in = node.input();
  if (converts && in->type() == node.output()->type()) {
    replace_node(node, in);
    return true;
  }
  // Its own inverse.
  const bool inverts = operation == StepKind::neg || operation == StepKind::not_ || operation == StepKind::invert;
  if (inverts && in->node()->op() == node.op()) {
    replace_node(node, in->node()->input());
    return true;
  }
  return false;
}

// The number that became a tensor, back as a number.
bool simplify_item(ir::Node& node) {
  static const ir::Symbol from_number("prim::NumToTensor"), integer("aten::Int"), real("aten::Float"),
      boolean("aten::Bool"), int_implicit("aten::IntImplicit"), float_implicit("aten::FloatImplicit"),
      implicit("aten::ScalarImplicit"), item("aten::item");
  for (const ir::Symbol kind : {integer, real, boolean, int_implicit, float_implicit, implicit, item}) {
    if (!node.is(kind) || node.inputs().size() != 1) continue;
    const ir::Node* made = node.input()->node();
    if (!made->is(from_number) || !is_subtype(made->input()->type(), node.output()->type())) return false;
    replace_node(node, made->input());
    return true;
  }
  return false;
}

}  // namespace

bool simplify_number(ir::Node& node) {
  if (!node.op() || node.outputs().size() != 1) return false;
  const TypePtr type = node.output()->type();
  if (type->is(TypeKind::tensor)) return false;
  if (simplify_item(node)) return true;
  const StepKind operation = number_operation(*node.op());
  if (node.inputs().size() == 1) return simplify_unary(node, operation);
  if (node.inputs().size() == 2) return simplify_arithmetic(node, operation) || simplify_comparison(node, operation);
  // The numbers of range(0, n, 1).
  if (is_range_element(*node.op()) && is_number(node.input(1), 0) && is_number(node.input(2), 1)) {
    replace_node(node, node.input(0));
    return true;
  }
  return false;
}

}  // namespace sconce::passes
