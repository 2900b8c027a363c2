#include "sconce/serialization/code/inlined_nodes.h"

#include "sconce/serialization/code/print_names.h"

namespace sconce {
namespace {

// Written as statements, also if their values are used once.
bool is_statement(const ir::Node& n) {
  switch (n.kind().id()) {
    case ir::kind::fork_id:
    case ir::kind::awaitable_id:
    case ir::kind::Enter_id:
    case ir::kind::Exit_id:
    case ir::kind::TupleUnpack_id:
    case ir::kind::ListUnpack_id:
    case ir::kind::isinstance_id:            // inside a condition it would change what types are known
    case ir::kind::ModuleContainerIndex_id:  // its type stands at the variable
    case ir::kind::Uninitialized_id:
      return true;
    default:
      return n.outputs().size() != 1 || !n.blocks().empty();
  }
}

// Does this use take a name only?
bool wants_name(const ir::Use& use) {
  switch (use.user->kind().id()) {
    case ir::kind::Loop_id:
      return use.offset >= 2;  // assigned before the loop
    case ir::kind::SetAttr_id:
      return use.offset == 0;  // x in x.a = v, where v comes first
    case ir::kind::fork_id:
    case ir::kind::awaitable_id:
    case ir::kind::Enter_id:
    case ir::kind::Exit_id:
      return true;
    default:
      return false;
  }
}

bool can_be_inlined(const ir::Node& n) {
  if (is_statement(n) || n.output()->uses().size() != 1) return false;
  const ir::Use& use = n.output()->uses()[0];
  if (wants_name(use)) return false;
  return given_name(n.output()).empty() || use.user->is(ir::kind::Return);
}

void visit(const ir::Block& block, std::unordered_set<const ir::Node*>& inlined) {
  // Nodes whose text is not placed yet, as in a stack machine: a user takes them from the top, last argument first.
  std::vector<const ir::Node*> waiting;
  const auto take_inputs = [&](const ir::Node* user) {
    for (size_t i = user->inputs().size(); i-- > 0;) {
      const ir::Node* made = user->input(i)->node();
      if (waiting.empty() || waiting.back() != made || !can_be_inlined(*made)) continue;
      inlined.insert(made);
      waiting.pop_back();
    }
  };
  for (const ir::Node* n : block.nodes()) {
    if (n->is(ir::kind::Constant)) continue;
    take_inputs(n);
    waiting.push_back(n);
    for (const ir::Block* b : n->blocks()) visit(*b, inlined);
  }
  take_inputs(block.return_node());
}

}  // namespace

std::unordered_set<const ir::Node*> find_inlined_nodes(const ir::Graph& graph) {
  std::unordered_set<const ir::Node*> inlined;
  visit(*graph.block(), inlined);
  return inlined;
}

std::string_view given_name(const ir::Value* v) {
  if (!v->has_name()) return {};
  const std::string_view name = v->base_name();
  return is_made_name(name) ? std::string_view() : name;
}

}  // namespace sconce
