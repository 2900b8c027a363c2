#include "sconce/passes/analysis/rewrite.h"

namespace sconce::passes {

void each_node(const ir::Block& block, FunctionRef<void(ir::Node&)> visit) {
  for (ir::Node* node : block.nodes()) {
    for (const ir::Block* inner : node->blocks()) each_node(*inner, visit);
    visit(*node);
  }
}

size_t count_nodes(const ir::Block& block) {
  size_t n = 0;
  each_node(block, [&](ir::Node&) { ++n; });
  return n;
}

void replace_value(ir::Value* from, ir::Value* to) {
  from->replace_all_uses_with(to);
  if (!from->has_name() || to->has_name()) return;
  const std::string name = from->name();
  from->set_name("");
  to->set_name(name);
}

void replace_node(ir::Node& node, ir::Value* value) {
  replace_value(node.output(), value);
  node.destroy();
}

void replace_with_constant(ir::Node& node, sconce::Value value) {
  ir::Node* constant = node.graph()->create_constant(std::move(value), node.output()->type());
  constant->set_range(node.range())->set_inlined(node.inlined());
  constant->insert_before(&node);
  replace_node(node, constant->output());
}

ir::Node* create_like(const ir::Node& node, ir::Symbol kind, ListRef<ir::Value*> inputs, TypePtr output) {
  ir::Node* made = node.graph()->create(kind, inputs);
  made->set_range(node.range())->set_inlined(node.inlined());
  made->add_output(output);
  return made;
}

std::optional<int64_t> constant_int(const ir::Value* v) {
  const std::optional<sconce::Value> c = ir::constant_value(v);
  return c && c->is_int() ? std::optional(c->to_int()) : std::nullopt;
}

std::optional<bool> constant_bool(const ir::Value* v) {
  const std::optional<sconce::Value> c = ir::constant_value(v);
  return c && c->is_bool() ? std::optional(c->to_bool()) : std::nullopt;
}

ir::Value* named_input(const ir::Node& node, std::string_view argument) {
  if (!node.op()) return nullptr;
  const std::optional<size_t> at = node.op()->schema().find_argument(argument);
  return at && *at < node.inputs().size() ? node.input(*at) : nullptr;
}

bool is_geometry_query(const ir::Node& node) {
  if (!node.op() || node.outputs().size() != 1) return false;
  static const ir::Symbol dim("aten::dim"), size("aten::size"), numel("aten::numel");
  if (node.is(dim) || node.is(size) || node.is(numel)) return true;
  // Attributes of tensors are operators of prim:: (dtype, device, requires_grad, ...).
  const Schema& schema = node.op()->schema();
  return node.kind().space() == "prim" && schema.arguments.size() == 1 && schema.arguments[0].type == tensor_type() &&
         !node.output()->type()->is(TypeKind::tensor);
}

}  // namespace sconce::passes
