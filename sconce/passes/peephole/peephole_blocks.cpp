// Peephole rules for If and Loop.
//   %y = If(%c): -> (%x)  else: -> (%x)          =>  %x
//   %y = If(%c): -> (True)  else: -> (False)     =>  %c
//   a value that a loop carries and never changes  =>  the value itself
#include "sconce/passes/analysis/rewrite.h"
#include "sconce/passes/peephole/peephole.h"

namespace sconce::passes {
namespace {

bool is_same_constant(const ir::Value* a, const ir::Value* b) {
  if (a->type() != b->type() || !a->node()->is(ir::kind::Constant) || !b->node()->is(ir::kind::Constant)) return false;
  const std::optional<sconce::Value> x = ir::constant_value(a), y = ir::constant_value(b);
  if (!x || !y || x->tag() != y->tag() || x->tag() >= Tag::tensor) return false;
  return x->bits() == y->bits();
}

bool is_visible_at(const ir::Value* v, const ir::Node& node) {
  return !v->node()->is_inside(&node) && v->node()->block()->owner() != &node;
}

// A constant of a branch, moved in front of the If.
ir::Value* hoist_constant(ir::Value* v, ir::Node& node) {
  if (is_visible_at(v, node)) return v;
  v->node()->move_before(&node);
  return v;
}

}  // namespace

bool simplify_if(ir::Node& node) {
  bool changed = false;
  ir::Block &yes = *node.block_at(0), &no = *node.block_at(1);
  for (size_t i = 0; i < node.outputs().size(); ++i) {
    ir::Value* out = node.output(i);
    if (!out->has_uses()) continue;
    ir::Value *a = yes.outputs()[i], *b = no.outputs()[i];
    ir::Value* same = nullptr;
    if (a == b) {
      same = a;
    } else if (is_same_constant(a, b)) {
      same = hoist_constant(a, node);
    } else if (constant_bool(a) == true && constant_bool(b) == false) {
      same = node.input();
    }
    if (!same || !is_subtype(same->type(), out->type())) continue;
    out->replace_all_uses_with(same);
    changed = true;
  }
  return changed;
}

bool simplify_loop(ir::Node& node) {
  bool changed = false;
  ir::Block& body = *node.block_at(0);
  for (size_t i = node.outputs().size(); i-- > 0;) {
    ir::Value *carried = body.inputs()[i + 1], *first = node.input(i + 2);
    if (body.outputs()[i + 1] != carried) continue;
    carried->replace_all_uses_with(first);  // with that, the block's own output is `first`
    node.output(i)->replace_all_uses_with(first);
    body.remove_output(i + 1);
    body.remove_input(i + 1);
    node.remove_input(i + 2);
    node.remove_output(i);
    changed = true;
  }
  return changed;
}

}  // namespace sconce::passes
