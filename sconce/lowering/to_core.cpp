#include "sconce/lowering/to_core.h"

#include <algorithm>

#include "sconce/ir/effects.h"
#include "sconce/lowering/autodiff.h"
#include "sconce/lowering/functionalize.h"
#include "sconce/lowering/splice.h"
#include "sconce/passes/analysis/op_graphs.h"
#include "sconce/passes/analysis/rewrite.h"
#include "sconce/passes/passes.h"

namespace sconce::lowering {
namespace {

constexpr int kDeepest = 24;           // bodies within bodies
constexpr int kRounds = 4;             // of passes after each
constexpr size_t kMostNodes = 200000;  // a graph that has become this large stays as it is

bool names_tensors(TypePtr type) {
  return type->is(TypeKind::tensor) || std::ranges::any_of(type->contained(), names_tensors);
}

// A text that calls its own operator again leads nowhere.
bool calls(const ir::Graph& graph, const Op& op) {
  bool found = false;
  passes::each_node(*graph.block(), [&](ir::Node& node) { found |= node.op() == &op; });
  return found;
}

// Gradients that are not wanted are None, which values of type Tensor cannot be: such an operator stays.
bool gives_what_it_says(const ir::Graph& graph, const Op& op) {
  const std::vector<Argument>& returns = op.schema().returns;
  for (size_t i = 0; i < returns.size() && i < graph.outputs().size(); ++i) {
    if (graph.outputs()[i]->type()->is(TypeKind::optional) && !returns[i].type->is(TypeKind::optional)) return false;
  }
  return true;
}

const ir::Graph* replacement(const Op& op) {
  passes::OpGraphs& graphs = *passes::op_graphs();
  for (const ir::Graph* graph : {graphs.decomposition(op), graphs.body(op), graphs.expression(op)}) {
    if (graph && !calls(*graph, op) && gives_what_it_says(*graph, op)) return graph;
  }
  return nullptr;
}

bool is_left(const ir::Node& node) {
  return node.op() && !ir::is_call(node) && !node.op()->has(Trait::core) && !makes_no_tensor(*node.op()) &&
         !node.op()->schema().is_mutable() && !node.op()->schema().is_vararg;
}

bool expand_all(ir::Graph& graph) {
  std::vector<ir::Node*> found;
  passes::each_node(*graph.block(), [&](ir::Node& node) {
    if (is_left(node)) found.push_back(&node);
  });
  bool changed = false;
  for (ir::Node* node : found) {
    const ir::Graph* by = replacement(*node->op());
    if (!by) continue;
    replace_by(*node, *by);
    changed = true;
  }
  return changed;
}

// What dtypes and sizes decide of the texts: facts make constants, constants decide branches, those give facts.
void clean_up(ir::Graph& graph) {
  for (int round = 0; round < kRounds; ++round) {
    const size_t before = passes::count_nodes(*graph.block());
    passes::shape_propagation(graph);
    passes::run_pipeline(graph);
    if (passes::count_nodes(*graph.block()) == before) return;
  }
}

}  // namespace

bool makes_no_tensor(const Op& op) {
  const Schema& schema = op.schema();
  return std::ranges::none_of(schema.returns, [](const Argument& r) { return names_tensors(r.type); });
}

bool to_core(ir::Graph& graph) {
  bool changed = passes::normalize_ops(graph);
  for (int depth = 0; depth < kDeepest && passes::count_nodes(*graph.block()) < kMostNodes; ++depth) {
    if (!expand_all(graph)) break;
    changed = true;
    clean_up(graph);
    functionalize(graph);
    passes::normalize_ops(graph);
  }
  return changed;
}

}  // namespace sconce::lowering
