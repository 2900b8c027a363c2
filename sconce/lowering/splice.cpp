#include "sconce/lowering/splice.h"

#include "sconce/passes/analysis/rewrite.h"

namespace sconce::lowering {

std::vector<ir::Value*> splice(const ir::Graph& graph, ListRef<ir::Value*> inputs, ir::Node& at, const ir::Node& like) {
  ir::Block::ValueMap map;
  for (size_t i = 0; i < graph.inputs().size(); ++i) map[graph.inputs()[i]] = inputs[i];
  const auto mark = [&](ir::Node& n) {
    n.set_range(like.range())->set_inlined(like.inlined());
    n.set_scope(like.scope());
    // Names of the text behind an operator would be taken for the program's.
    for (ir::Value* v : n.outputs()) v->set_name("");
    for (const ir::Block* block : n.blocks()) {
      for (ir::Value* v : block->inputs()) v->set_name("");
    }
  };
  for (const ir::Node* n : graph.nodes()) {
    ir::Node* copy = at.graph()->create_copy(*n, map)->insert_before(&at);
    for (const ir::Block* block : copy->blocks()) passes::each_node(*block, mark);
    mark(*copy);
  }
  std::vector<ir::Value*> outputs;
  for (const ir::Value* v : graph.outputs()) outputs.push_back(map.at(v));
  return outputs;
}

void replace_by(ir::Node& node, const ir::Graph& graph) {
  std::vector<ir::Value*> inputs = node.inputs();
  const Schema& schema = node.op()->schema();
  for (size_t i = inputs.size(); i < graph.inputs().size(); ++i) {
    ir::Node* given = node.graph()->create_constant(schema.arguments.at(i).default_value.value());
    inputs.push_back(given->set_range(node.range())->insert_before(&node)->output());
  }
  std::vector<ir::Value*> outputs = splice(graph, inputs, node, node);
  for (size_t i = 0; i < node.outputs().size(); ++i) {
    // A result that is not wanted, None, stands where the operator says Tensor: it gives an undefined one itself.
    const TypePtr said = node.output(i)->type();
    if (!said->is(TypeKind::tensor) || outputs[i]->type()->is(TypeKind::tensor)) continue;
    ir::Node* cast = node.graph()->create(ir::kind::unchecked_cast, {outputs[i]})->set_range(node.range());
    outputs[i] = cast->insert_before(&node)->add_output(said);
  }
  for (size_t i = 0; i < node.outputs().size(); ++i) {
    // An argument that is returned as it is keeps its own name.
    const bool is_new = std::ranges::find(inputs, outputs[i]) == inputs.end();
    is_new ? passes::replace_value(node.output(i), outputs[i]) : node.output(i)->replace_all_uses_with(outputs[i]);
  }
  node.destroy();
}

}  // namespace sconce::lowering
