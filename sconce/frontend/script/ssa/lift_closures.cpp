//   %f = Closure() { ... -> %r }; %u = forkClosure(%f)
//   %u = fork() { ... -> %r }
//     =>   %u = fork[Subgraph=graph(%x, ...): ... return (%r)](%x, ...)    with all values that it uses from outside
#include <unordered_set>

#include "sconce/frontend/script/ssa/to_ssa_steps.h"

namespace sconce::script {
namespace {

// Values of outside that the block uses, in order of use.
void find_captured(ir::Block* block, const ir::Node* owner, std::unordered_set<ir::Value*>& seen,
                   std::vector<ir::Value*>& captured) {
  const auto use = [&](ir::Value* v) {
    const ir::Node* from = v->node();
    const bool inside = from->is_inside(owner);
    if (!inside && seen.insert(v).second) captured.push_back(v);
  };
  for (ir::Node* n : block->nodes()) {
    for (ir::Value* v : n->inputs()) use(v);
    for (ir::Block* b : n->blocks()) find_captured(b, owner, seen, captured);
  }
  for (ir::Value* v : block->outputs()) use(v);
}

void lift(ir::Graph& graph, ir::Node* n, ir::Node* closure) {
  ir::Block* block = closure->block_at(0);
  std::unordered_set<ir::Value*> seen;
  std::vector<ir::Value*> captured;
  find_captured(block, closure, seen, captured);
  auto body = std::make_shared<ir::Graph>();
  ir::Block::ValueMap map;
  std::vector<ir::Value*> inputs;
  for (ir::Value* v : captured) {
    map[v] = body->add_input(v->type(), v->base_name());
    inputs.push_back(v);
  }
  body->block()->copy_from(*block, map);
  const bool waits = n->is(ir::kind::awaitable) || n->is(awaitable_closure());
  const ir::Symbol kind = waits ? ir::kind::awaitable : ir::kind::fork;
  ir::Node* fork = graph.create(kind, inputs, 1)->insert_before(n);
  fork->set_range(n->range());
  fork->set_attribute("Subgraph", body);
  const std::string name(n->output()->base_name());
  fork->output()->set_type(n->output()->type());
  n->output()->replace_all_uses_with(fork->output());
  n->destroy();
  if (!name.empty()) fork->output()->set_name(name);
}

void lift_in(ir::Graph& graph, ir::Block* block) {
  for (ir::Node* n : block->nodes()) {
    for (ir::Block* b : n->blocks()) lift_in(graph, b);
    if (n->is(fork_closure()) || n->is(awaitable_closure())) {
      lift(graph, n, n->input()->node());
    } else if ((n->is(ir::kind::fork) || n->is(ir::kind::awaitable)) && !n->blocks().empty()) {
      lift(graph, n, n);
    }
  }
}

void erase_closures(ir::Block* block) {
  for (ir::Node* n : block->nodes()) {
    for (ir::Block* b : n->blocks()) erase_closures(b);
    if (n->is(ir::kind::Closure)) n->destroy();
  }
}

}  // namespace

void lift_closures(ir::Graph& graph) {
  lift_in(graph, graph.block());
  erase_closures(graph.block());
}

}  // namespace sconce::script
