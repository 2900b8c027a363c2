// Step 2 of SSA construction: the condition block of a loop moves into its body and in front of it.
#include "sconce/frontend/script/ssa/to_ssa_steps.h"

namespace sconce::script {
namespace {

class Conditions {
 public:
  Conditions(ir::Graph& graph, const Carried& carried) : graph_(graph), carried_(carried) {}

  void exits(ir::Block* block, ir::Node* loop) {
    for (ir::Node* n : block->nodes()) {
      if (n->is(ir::kind::ContinueStmt)) {
        leave(n, loop, copy_condition(loop, n));
      } else if (n->is(ir::kind::BreakStmt)) {
        ir::Node* no = graph_.create_constant(sconce::Value(false))->insert_before(n);
        leave(n, loop, no->set_range(n->range())->output());
      } else if (n->is(ir::kind::Loop)) {
        exits(n->block_at(0), n);
      } else {
        const bool closure = n->is(ir::kind::Closure) || n->is(ir::kind::fork) || n->is(ir::kind::awaitable);
        for (ir::Block* b : n->blocks()) exits(b, closure ? nullptr : loop);
      }
    }
  }

  void inline_all(ir::Block* block) {
    for (ir::Node* n : block->nodes()) {
      for (ir::Block* b : n->blocks()) inline_all(b);
      if (!n->is(ir::kind::Loop) || n->blocks().size() < 2) continue;
      n->insert_input(1, copy_condition(n, n));
      ir::Block* body = n->block_at(0);
      body->insert_output(0, copy_condition(n, body->return_node()));
      n->remove_block(1);
    }
  }

 private:
  // The loop's condition once more, in front of `before`.
  ir::Value* copy_condition(ir::Node* loop, ir::Node* before) {
    ir::Block* condition = loop->block_at(1);
    ir::Block::ValueMap map;
    for (ir::Node* n : condition->nodes()) {
      ir::Node* copy = graph_.create_copy(*n, map)->insert_before(before);
      for (size_t i = 0; i < n->outputs().size(); ++i) map[n->output(i)] = copy->output(i);
    }
    ir::Value* out = condition->outputs().at(0);
    const auto it = map.find(out);
    return it == map.end() ? out : it->second;
  }

  void leave(ir::Node* n, ir::Node* loop, ir::Value* condition) {
    SCONCE_ASSERT(loop);
    ir::Node* exit = graph_.create(ir::kind::LoopContinuation, {condition})->insert_after(n);
    exit->set_range(n->range());
    const std::vector<std::string>& names = carried_.at(loop);
    for (size_t i = 0; i < names.size(); ++i) {
      ir::Node* load = graph_.create(ir::kind::Load, {}, 1)->insert_before(exit);
      load->set_attribute("name", sconce::Value(names[i]));
      exit->add_input(load->output()->set_type(loop->output(i)->type()));
    }
    n->destroy();
  }

  ir::Graph& graph_;
  const Carried& carried_;
};

}  // namespace

void inline_loop_conditions(ir::Graph& graph, const Carried& carried) {
  Conditions conditions(graph, carried);
  conditions.exits(graph.block(), nullptr);
  conditions.inline_all(graph.block());
}

}  // namespace sconce::script
