//   Loop(n, c, x) { (i, x): ... -> (c', x') }    =>
//   Loop(max, n > 0 and c, x, 0) { (_, x, k): ... -> (k + 1 < n and c', x', k + 1) }
#include <limits>

#include "sconce/frontend/script/ssa/to_ssa_steps.h"

namespace sconce::script {
namespace {

constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

bool is_true(const ir::Value* v) {
  const std::optional<sconce::Value> c = ir::constant_value(v);
  return c && c->is_bool() && c->to_bool();
}

// Has it both a count and a condition that may end it?
bool is_mixed(const ir::Node* n) {
  const ir::Block* body = n->block_at(0);
  if (is_true(n->input(1)) && is_true(body->outputs()[0])) return false;
  const std::optional<sconce::Value> trips = ir::constant_value(n->input(0));
  return !trips || trips->to_int() != kNoLimit || body->inputs()[0]->has_uses();
}

void canonicalize(ir::Graph& graph, ir::Block* block) {
  for (ir::Node* n : block->nodes()) {
    for (ir::Block* b : n->blocks()) canonicalize(graph, b);
    if (!n->is(ir::kind::Loop) || !is_mixed(n)) continue;
    const auto constant = [&](sconce::Value v) {
      return graph.create_constant(std::move(v))->insert_before(n)->set_range(n->range())->output();
    };
    ir::Block* body = n->block_at(0);
    ir::Value* trips = n->input(0);
    ir::Value* zero = constant(sconce::Value(int64_t{0}));
    ir::Value* one = constant(sconce::Value(int64_t{1}));
    ir::Value* go = insert_op(graph, n, "aten::gt", {trips, zero});
    if (!is_true(n->input(1))) go = insert_op(graph, n, "aten::__and__", {go, n->input(1)});
    n->set_input(0, constant(sconce::Value(kNoLimit)));
    n->set_input(1, go);
    n->add_input(zero);
    n->add_output(int_type());
    ir::Value* counter = body->add_input(int_type());
    body->inputs()[0]->set_name({})->replace_all_uses_with(counter);
    ir::Value* next = insert_op(graph, body->return_node(), "aten::add", {counter, one});
    ir::Value* more = insert_op(graph, body->return_node(), "aten::lt", {next, trips});
    ir::Value* next_condition = body->outputs()[0];
    body->return_node()->set_input(0, insert_op(graph, body->return_node(), "aten::__and__", {more, next_condition}));
    body->add_output(next);
  }
}

}  // namespace

void canonicalize_loops(ir::Graph& graph) { canonicalize(graph, graph.block()); }

}  // namespace sconce::script
