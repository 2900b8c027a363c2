//   %b, %x = If(%c) { -> (true, %x0) } { -> (false, %x1) }
//   %y = If(%b) { A } { B }
//     =>
//   %b, %x, %y = If(%c) { A with %x0 } { B with %x1 }
#include "sconce/frontend/script/to_ssa_steps.h"

namespace sconce::script {
namespace {

std::optional<bool> constant_bool(const ir::Value* v) {
  const std::optional<sconce::Value> c = ir::constant_value(v);
  return c && c->is_bool() ? std::optional(c->to_bool()) : std::nullopt;
}

bool merge_with_next(ir::Graph& graph, ir::Node* first) {
  ir::Node* second = first->next();
  if (!first->is(ir::kind::If) || !second->is(ir::kind::If) || second->input()->node() != first) return false;
  const size_t flag = second->input()->offset();
  std::optional<bool> known[2];
  for (size_t i = 0; i < 2; ++i) known[i] = constant_bool(first->block_at(i)->outputs()[flag]);
  // Equal answers need no merging: the second is decided whatever happens.
  if (!known[0] || !known[1] || *known[0] == *known[1]) return false;
  for (size_t i = 0; i < 2; ++i) {
    ir::Block* into = first->block_at(i);
    const ir::Block* from = second->block_at(*known[i] ? 0 : 1);
    ir::Block::ValueMap map;
    for (size_t k = 0; k < first->outputs().size(); ++k) map[first->output(k)] = into->outputs()[k];
    for (ir::Node* n : from->nodes()) {
      ir::Node* copy = graph.create_copy(*n, map)->insert_before(into->return_node());
      for (size_t k = 0; k < n->outputs().size(); ++k) map[n->output(k)] = copy->output(k);
    }
    for (ir::Value* v : from->outputs()) {
      const auto it = map.find(v);
      into->add_output(it == map.end() ? v : it->second);
    }
  }
  for (ir::Value* out : second->outputs()) {
    const std::string name(out->base_name());
    ir::Value* merged = first->add_output(out->type());
    out->replace_all_uses_with(merged);
    if (!name.empty()) merged->set_name(name);
  }
  second->destroy();
  return true;
}

void merge(ir::Graph& graph, ir::Block* block) {
  for (ir::Node* n = block->first(); n != block->return_node(); n = n->next()) {
    for (ir::Block* b : n->blocks()) merge(graph, b);
    while (merge_with_next(graph, n)) {
      // What came into the blocks may go on there.
      for (ir::Block* b : n->blocks()) merge(graph, b);
    }
  }
}

}  // namespace

void merge_ifs(ir::Graph& graph) { merge(graph, graph.block()); }

}  // namespace sconce::script
