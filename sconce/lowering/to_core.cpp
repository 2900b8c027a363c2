#include "sconce/lowering/to_core.h"

#include <algorithm>

#include "sconce/dispatch/registry.h"
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

const ir::Graph* replacement(const ir::Node& node) {
  const Op& op = *node.op();
  passes::OpGraphs& graphs = *passes::op_graphs();
  for (const ir::Graph* graph : {graphs.decomposition(op), graphs.body(op), graphs.expression(op)}) {
    if (graph && !calls(*graph, op)) return graph;
  }
  return nullptr;
}

bool is_left(const ir::Node& node) {
  return node.op() && !ir::is_call(node) && !node.op()->has(Trait::core) && !makes_no_tensor(*node.op()) &&
         !node.op()->schema().is_mutable() && !node.op()->schema().is_vararg;
}

// aten::tensor takes lists of all types; its text is one for each of those.
const Op* typed_tensor(const ir::Node& node) {
  static const ir::Symbol tensor("aten::tensor");
  if (!node.is(tensor) || node.inputs().size() != 4 || !node.input()->type()->is(TypeKind::list)) return nullptr;
  const std::optional<sconce::Value> gradient = ir::constant_value(node.input(3));
  if (!gradient || gradient->to_bool()) return nullptr;
  TypePtr item = node.input()->type()->element();
  const bool rows = item->is(TypeKind::list);
  if (rows) item = item->element();
  return find_op("sconce::tensor_of", item->to_string() + (rows ? "_rows" : ""));
}

void give_types(ir::Graph& graph) {
  std::vector<ir::Node*> found;
  passes::each_node(*graph.block(), [&](ir::Node& node) {
    if (typed_tensor(node)) found.push_back(&node);
  });
  for (ir::Node* node : found) {
    ir::Node* typed = graph.create(*typed_tensor(*node), {node->input(0), node->input(1), node->input(2)});
    typed->set_range(node->range())->set_inlined(node->inlined());
    typed->insert_before(node);
    passes::replace_value(node->output(), typed->output());
    node->destroy();
  }
}

bool expand_all(ir::Graph& graph) {
  give_types(graph);
  std::vector<ir::Node*> found;
  passes::each_node(*graph.block(), [&](ir::Node& node) {
    if (is_left(node)) found.push_back(&node);
  });
  bool changed = false;
  for (ir::Node* node : found) {
    const ir::Graph* by = replacement(*node);
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
  const auto names = [](const Argument& a) { return names_tensors(a.type); };
  if (std::ranges::none_of(schema.returns, names)) return true;
  // aten::dict() -> Dict(str, Tensor), which is empty.
  const bool dicts = std::ranges::all_of(schema.returns, [](const Argument& r) { return r.type->is(TypeKind::dict); });
  return dicts && std::ranges::none_of(schema.arguments, names);
}

bool to_core(ir::Graph& graph, bool apart) {
  bool changed = passes::normalize_ops(graph);
  for (int depth = 0; depth < kDeepest && passes::count_nodes(*graph.block()) < kMostNodes; ++depth) {
    if (!expand_all(graph)) break;
    changed = true;
    clean_up(graph);
    functionalize(graph, {.apart = apart});
    passes::normalize_ops(graph);
  }
  return changed;
}

}  // namespace sconce::lowering
