// Dropout removal, for inference:
//   %y : Tensor = aten::dropout(%x, %p, %false)  =>  %x
// for every random operator with a constant argument `train=False`: they return their input itself then. The
// probability must be valid, or the operator would have refused it.
#include "sconce/passes/analysis/rewrite.h"
#include "sconce/passes/passes.h"

namespace sconce::passes {
namespace {

bool is_idle_dropout(const ir::Node& node) {
  if (!node.op() || !node.op()->has(Trait::random) || node.outputs().size() != 1) return false;
  const ir::Value *train = named_input(node, "train"), *p = named_input(node, "p");
  if (!train || constant_bool(train) != false || !p) return false;
  const std::optional<sconce::Value> probability = ir::constant_value(p);
  if (!probability || !probability->is_double() || !(probability->to_double() >= 0 && probability->to_double() <= 1)) {
    return false;
  }
  return node.output()->type()->is(TypeKind::tensor) && node.input()->type()->is(TypeKind::tensor);
}

}  // namespace

bool erase_dropout(ir::Graph& graph) {
  bool changed = false;
  each_node(*graph.block(), [&](ir::Node& node) {
    if (!is_idle_dropout(node)) return;
    replace_node(node, node.input());
    changed = true;
  });
  return changed;
}

}  // namespace sconce::passes
