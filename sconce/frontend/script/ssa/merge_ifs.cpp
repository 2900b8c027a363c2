//   %b, %x = If(%c) { -> (true, %x0) } { -> (false, %x1) }
//   %y = If(%b) { A } { B }
//     =>
//   %b, %x, %y = If(%c) { A with %x0 } { B with %x1 }
#include "sconce/frontend/script/ssa/to_ssa_steps.h"

namespace sconce::script {
namespace {

std::optional<bool> constant_bool(const ir::Value* v) {
  const std::optional<sconce::Value> c = ir::constant_value(v);
  return c && c->is_bool() ? std::optional(c->to_bool()) : std::nullopt;
}

// The block of `owner` that a node is in, at any depth; null when it is in none.
const ir::Block* block_of(const ir::Node* owner, const ir::Node* n) {
  for (const ir::Block* b = n->block(); b && b->owner(); b = b->owner()->block()) {
    if (b->owner() == owner) return b;
  }
  return nullptr;
}

bool merge_with_next(ir::Node* first) {
  ir::Node* second = first->next();
  if (!first->is(ir::kind::If) || !second->is(ir::kind::If) || second->input()->node() != first) return false;
  const size_t flag = second->input()->offset();
  std::optional<bool> known[2];
  for (size_t i = 0; i < 2; ++i) known[i] = constant_bool(first->block_at(i)->outputs()[flag]);
  // Equal answers need no merging: the second is decided in both branches.
  if (!known[0] || !known[1] || *known[0] == *known[1]) return false;
  const size_t outputs = first->outputs().size();
  for (size_t i = 0; i < 2; ++i) {
    ir::Block* into = first->block_at(i);
    ir::Block* from = second->block_at(*known[i] ? 0 : 1);
    const std::vector<ir::Value*> results = from->outputs();
    for (ir::Node* n : from->nodes()) n->move_before(into->return_node());
    for (ir::Value* v : results) into->add_output(v);
  }
  // Inside, the outputs of the first are what its block gives.
  for (size_t k = 0; k < outputs; ++k) {
    const std::vector<ir::Use> uses = first->output(k)->uses();
    for (const ir::Use& use : uses) {
      if (const ir::Block* b = block_of(first, use.user)) use.user->set_input(use.offset, b->outputs()[k]);
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

void merge(ir::Block* block) {
  for (ir::Node* n = block->first(); n != block->return_node(); n = n->next()) {
    while (merge_with_next(n)) {
    }
    for (ir::Block* b : n->blocks()) merge(b);
  }
}

}  // namespace

void merge_ifs(ir::Graph& graph) { merge(graph.block()); }

}  // namespace sconce::script
