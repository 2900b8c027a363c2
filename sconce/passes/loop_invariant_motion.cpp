// Loop-invariant code motion: a value that is the same in every iteration is computed once, before the loop.
//   prim::Loop(...)                              %m : int = aten::mul(%a, %b)
//     block0(%i : int):                          prim::Loop(...)
//       %m : int = aten::mul(%a, %b)       =>      block0(%i : int):
//       %s : int = aten::add(%i, %m)                 %s : int = aten::add(%i, %m)
// Only nodes that cannot fail, or that are certainly executed before anything else happens: the loop runs at least
// once, and nothing in the body before them has effects. Their inputs are not written in the loop, and it cannot be
// observed that all iterations now share one result: it is not written to, and does not escape.
#include <algorithm>

#include "sconce/dispatch/entry.h"
#include "sconce/ir/effects.h"
#include "sconce/passes/analysis/lazy_alias.h"
#include "sconce/passes/analysis/rewrite.h"
#include "sconce/passes/passes.h"

namespace sconce::passes {
namespace {

bool is_number(TypePtr type) {
  return type->is(TypeKind::int_) || type->is(TypeKind::float_) || type->is(TypeKind::bool_);
}

// Nothing that raises: no division, shift, power or function.
bool is_safe(StepKind kind) {
  return kind <= StepKind::where && kind != StepKind::div && kind != StepKind::shift_left &&
         kind != StepKind::shift_right;
}

bool is_safe_arithmetic(const ir::Node& node) {
  const OpEntry* entry = node.op()->info.entry;
  if (!entry || !entry->number || !is_number(node.output()->type())) return false;
  for (const ir::Value* v : node.inputs()) {
    if (!is_number(v->type())) return false;
  }
  return std::ranges::all_of(entry->number->steps(), [](const Step& s) { return is_safe(s.kind); });
}

bool cannot_fail(const ir::Node& node) {
  switch (node.kind().id()) {
    case ir::kind::Constant_id:
    case ir::kind::TupleConstruct_id:
    case ir::kind::TupleUnpack_id:
    case ir::kind::GetAttr_id:
    case ir::kind::isinstance_id:
      return true;
    default:
      break;
  }
  if (!node.op() || node.outputs().size() != 1) return false;
  static const ir::Symbol is("aten::__is__"), isnot("aten::__isnot__");
  if (is_geometry_query(node)) return node.inputs().size() == 1;  // x.size(3) can fail
  return node.is(is) || node.is(isnot) || is_safe_arithmetic(node);
}

bool runs_at_least_once(const ir::Node& loop) {
  const std::optional<int64_t> trips = constant_int(loop.input(0));
  return trips && *trips > 0 && constant_bool(loop.input(1)) == true;
}

class Mover {
 public:
  explicit Mover(const ir::Graph& graph) : alias_(graph) {}

  bool visit(ir::Node& loop) {
    bool changed = false;
    bool certain = runs_at_least_once(loop);
    for (ir::Node* node : loop.block_at(0)->nodes()) {
      if (is_invariant(*node, loop) && (cannot_fail(*node) || certain) && may_share(*node, loop)) {
        node->move_before(&loop);
        changed = true;
      } else {
        // A node that stays must neither have effects nor fail before the nodes behind it.
        certain = certain && cannot_fail(*node) && alias_->is_pure(node);
      }
    }
    return changed;
  }

 private:
  static bool is_invariant(const ir::Node& node, const ir::Node& loop) {
    if (!node.blocks().empty()) return false;
    return std::none_of(node.inputs().begin(), node.inputs().end(), [&](const ir::Value* v) {
      return v->node()->is_inside(&loop) || v->node()->block()->owner() == &loop;
    });
  }

  bool may_share(const ir::Node& node, const ir::Node& loop) {
    const bool numbers_only = std::none_of(node.inputs().begin(), node.inputs().end(),
                                           [](ir::Value* v) { return ir::is_mutable(v->type()); }) &&
                              std::none_of(node.outputs().begin(), node.outputs().end(),
                                           [](ir::Value* v) { return ir::is_mutable(v->type()); });
    if (ir::has_side_effects(node) || ir::is_nondeterministic(node)) return false;
    if (numbers_only) return true;
    if (!alias_->is_pure(&node)) return false;
    for (const ir::Value* v : node.inputs()) {
      if (alias_->writes_to(&loop, v)) return false;
    }
    // An item of a container is that object, not a new one.
    const bool is_reference = node.is(ir::kind::GetAttr) || node.is(ir::kind::TupleUnpack);
    for (const ir::Value* v : node.outputs()) {
      if (!is_reference && ir::is_mutable(v->type()) && (alias_->has_writers(v) || alias_->may_leave(v))) return false;
    }
    return true;
  }

  LazyAlias alias_;
};

}  // namespace

bool loop_invariant_motion(ir::Graph& graph) {
  Mover mover(graph);
  bool changed = false;
  each_node(*graph.block(), [&](ir::Node& node) {
    if (node.is(ir::kind::Loop)) changed |= mover.visit(node);
  });
  return changed;
}

}  // namespace sconce::passes
