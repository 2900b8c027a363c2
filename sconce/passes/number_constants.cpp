// Wrapped numbers: a constant tensor of no dimension is a number where add, sub, mul and div take it second.
//   %c : Tensor = prim::Constant[value={0.1}]()
//   %y : Tensor = aten::mul(%x, %c)
//   =>
//   %n : float = prim::Constant[value=0.1]()
//   %y : Tensor = aten::mul(%x, %n)
// A trace holds x * 0.1 so, and a file loses that 0.1 was a number: as a float64 tensor it would decide the result's
// dtype. PyTorch's executor does this, to these four and no others, before it folds constants; docs/runtime.md says how
// that was found out. Truth values stay tensors: there is no operator for them.
#include <algorithm>

#include "sconce/dispatch/registry.h"
#include "sconce/passes/passes.h"

namespace sconce::passes {
namespace {

constexpr std::string_view kOperators[] = {"aten::add.Tensor", "aten::sub.Tensor", "aten::mul.Tensor",
                                           "aten::div.Tensor"};

std::optional<sconce::Value> number_of(const ir::Value* v) {
  const std::optional<sconce::Value> constant = ir::constant_value(v);
  if (!constant || !constant->is_tensor()) return std::nullopt;
  const Tensor& t = constant->to_tensor();
  const bool is_plain = t.dim() == 0 && t.device().type == DeviceType::cpu && t.dtype() != DType::bool_;
  if (!is_plain || is_limited(t.dtype())) return std::nullopt;
  return sconce::Value(item_of(t));
}

bool visit(ir::Block& block) {
  bool changed = false;
  for (ir::Node* node : block.nodes()) {
    for (ir::Block* inner : node->blocks()) changed |= visit(*inner);
    const Op* op = node->op();
    if (!op || std::find(std::begin(kOperators), std::end(kOperators), op->qualified_name()) == std::end(kOperators))
      continue;
    std::optional<sconce::Value> number = number_of(node->input(1));
    if (!number) continue;
    ir::Node* constant = node->graph()->create_constant(std::move(*number))->set_range(node->range());
    node->set_input(1, constant->insert_before(node)->output());
    node->set_op(find_op(op->info.name, "Scalar"));
    changed = true;
  }
  return changed;
}

}  // namespace

bool number_constants(ir::Graph& graph) { return visit(*graph.block()); }

}  // namespace sconce::passes
