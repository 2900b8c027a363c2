#include "sconce/frontend/script/ssa/to_ssa.h"

#include "sconce/frontend/script/calls/calls.h"
#include "sconce/frontend/script/ssa/log_stage.h"
#include "sconce/frontend/script/ssa/to_ssa_steps.h"

namespace sconce::script {

TypePtr merged_type(TypePtr a, TypePtr b) {
  const TypePtr type = unify(a, b, true);
  SCONCE_ASSERT(type);
  return type;
}

std::string_view variable_name(std::string_view storage) { return storage.substr(0, storage.find('@')); }

ir::Value* insert_op(ir::Graph& graph, ir::Node* before, std::string_view name, ListRef<ir::Value*> inputs) {
  std::vector<TypePtr> types;
  for (const ir::Value* v : inputs) types.push_back(v->type());
  const Op* op = ir::resolve_op(ir::Symbol(name), types);
  SCONCE_ASSERT(op);
  ir::Node* n = graph.create(*op, inputs)->insert_before(before);
  n->set_range(before->range());
  return n->output();
}

namespace {

// An empty list that found no other type is a list of tensors.
void settle_empty_lists(ir::Graph& graph, ir::Block* block) {
  for (ir::Node* n : block->nodes()) {
    for (ir::Block* b : n->blocks()) settle_empty_lists(graph, b);
    if (!n->is(ir::kind::EmptyListLiteral)) continue;
    ir::Node* list = graph.create(ir::kind::ListConstruct, {}, 1)->insert_before(n);
    list->set_range(n->range());
    const std::string name(n->output()->base_name());
    list->output()->set_type(n->output()->type());
    n->output()->replace_all_uses_with(list->output());
    n->destroy();
    if (!name.empty()) list->output()->set_name(name);
  }
}

}  // namespace

void to_ssa(ir::Graph& graph, bool from_archive) {
  const auto done = [&](std::string_view step) { log_stage(step, graph, LogLevel::debug); };
  const Carried carried = carry_variables(graph);
  done("after carry_variables");
  inline_loop_conditions(graph, carried);
  done("after inline_loop_conditions");
  resolve_variables(graph);
  done("after resolve_variables");
  transform_exits(graph, !from_archive);
  done("after transform_exits");
  canonicalize_loops(graph);
  settle_empty_lists(graph, graph.block());
  lift_closures(graph);
}

}  // namespace sconce::script
