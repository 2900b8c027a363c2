#include "sconce/lowering/effects/inline_forks.h"

#include <algorithm>

#include "sconce/lowering/splice.h"
#include "sconce/passes/analysis/rewrite.h"

namespace sconce::lowering {
namespace {

bool names_futures(TypePtr type) {
  return type->is(TypeKind::future) || std::ranges::any_of(type->contained(), names_futures);
}

// Future[T][] => T[]. Null for types that hold futures in another way.
TypePtr awaited(TypePtr type) {
  if (!names_futures(type)) return type;
  if (type->is(TypeKind::future)) return awaited(type->element());
  if (type->is(TypeKind::list)) {
    const TypePtr element = awaited(type->element());
    return element ? list_type(element) : nullptr;
  }
  if (!type->is(TypeKind::tuple)) return nullptr;
  std::vector<TypePtr> elements;
  for (const TypePtr& e : type->contained()) {
    elements.push_back(awaited(e));
    if (!elements.back()) return nullptr;
  }
  return tuple_type(elements);
}

const std::shared_ptr<ir::Graph>* forked(const ir::Node& node) {
  if (!node.is(ir::kind::fork)) return nullptr;
  for (const auto& [name, v] : node.attributes()) {
    if (const auto* graph = std::get_if<std::shared_ptr<ir::Graph>>(&v)) return graph;
  }
  return nullptr;
}

// Everything that has a future has it from a fork here, and only waits for it.
bool can_inline(const ir::Graph& graph) {
  static const ir::Symbol wait("aten::wait");
  const auto plain = [](const ir::Value* v) { return !names_futures(v->type()); };
  if (!std::ranges::all_of(graph.inputs(), plain) || !std::ranges::all_of(graph.outputs(), plain)) return false;
  bool can = true;
  passes::each_node(*graph.block(), [&](const ir::Node& node) {
    for (const ir::Value* v : node.outputs()) can &= awaited(v->type()) != nullptr;
    const bool gives = !std::ranges::all_of(node.outputs(), plain);
    const bool takes = !std::ranges::all_of(node.inputs(), plain);
    if (const std::shared_ptr<ir::Graph>* body = forked(node)) {
      can &= !takes && (*body)->outputs().size() == 1 && can_inline(**body);
    } else if (gives || takes) {
      // Lists and tuples move them; control flow carries them.
      const bool generic = node.op() && std::ranges::all_of(node.op()->schema().arguments, [](const Argument& a) {
                             return !a.type->is(TypeKind::future);
                           });
      const bool structure = node.is(ir::kind::ListConstruct) || node.is(ir::kind::TupleConstruct) ||
                             node.is(ir::kind::ListUnpack) || node.is(ir::kind::TupleUnpack) ||
                             node.is(ir::kind::TupleIndex) || node.is(ir::kind::If) || node.is(ir::kind::Loop) ||
                             node.is(ir::kind::Return);
      can &= generic || structure || node.is(wait);
    }
  });
  return can;
}

void set_types(const ir::Block& block) {
  const auto set = [](ir::Value* v) { v->set_type(awaited(v->type())); };
  std::ranges::for_each(block.inputs(), set);
  for (const ir::Node* node : block.nodes()) {
    std::ranges::for_each(node->outputs(), set);
    for (const ir::Block* inner : node->blocks()) set_types(*inner);
  }
}

}  // namespace

bool inline_forks(ir::Graph& graph) {
  bool any = false;
  passes::each_node(*graph.block(), [&](const ir::Node& node) { any |= forked(node) != nullptr; });
  if (!any || !can_inline(graph)) return false;
  static const ir::Symbol wait("aten::wait");
  std::vector<ir::Node*> found;
  do {  // a body may fork as well
    found.clear();
    passes::each_node(*graph.block(), [&](ir::Node& node) {
      if (forked(node)) found.push_back(&node);
    });
    for (ir::Node* node : found) {
      const std::shared_ptr<ir::Graph> body = *forked(*node);
      node->output()->replace_all_uses_with(splice(*body, node->inputs(), *node, *node).at(0));
      node->destroy();
    }
  } while (!found.empty());
  passes::each_node(*graph.block(), [&](ir::Node& node) {
    if (node.is(wait)) found.push_back(&node);
  });
  set_types(*graph.block());
  for (ir::Node* node : found) {
    node->output()->replace_all_uses_with(node->input());
    node->destroy();
  }
  return true;
}

}  // namespace sconce::lowering
