#include "sconce/executor/backends/tape_graph.h"

#include <algorithm>

#include "sconce/base/error.h"
#include "sconce/executor/backends/straight_graph.h"
#include "sconce/executor/probe.h"
#include "sconce/lowering/to_prims.h"
#include "sconce/passes/analysis/constant_values.h"

namespace sconce::executor {
namespace {

size_t index_of(const std::vector<ValueId>& values, ValueId v) {
  return static_cast<size_t>(std::find(values.begin(), values.end(), v) - values.begin());
}

// The call as a graph: tensors are inputs, everything else is constant. Null where an argument cannot be one.
std::shared_ptr<ir::Graph> graph_of_call(const Tape& tape, const TapeNode& node, const std::vector<ValueId>& inputs) {
  auto graph = std::make_shared<ir::Graph>();
  std::vector<ir::Value*> tensors, args;
  for (const ValueId v : inputs) tensors.push_back(graph->add_input(type_of_twin(tape.twin(v))));
  const Schema& schema = node.op->schema();
  for (uint32_t i = 0; i < node.args.size(); ++i) {
    std::vector<const TensorUse*> uses;
    for (const TensorUse& use : node.uses) {
      if (use.arg == i) uses.push_back(&use);
    }
    if (uses.empty()) {
      if (!passes::can_be_constant(node.args[i])) return nullptr;
      args.push_back(graph->insert_constant(node.args[i], {}, node.args[i].is_none() ? none_type() : nullptr));
    } else if (uses[0]->item < 0) {
      args.push_back(tensors[index_of(inputs, uses[0]->value)]);
    } else {
      const TypePtr type = schema.arguments[i].type;
      std::vector<ir::Value*> items(node.args[i].to_list().size());
      for (const TensorUse* use : uses) items[static_cast<size_t>(use->item)] = tensors[index_of(inputs, use->value)];
      for (ir::Value*& item : items) {
        if (!item) item = graph->insert_constant(Value(), {}, none_type());
      }
      ir::Node* list = graph->insert(graph->create(ir::kind::ListConstruct, items, 1));
      list->output()->set_type(type->is(TypeKind::optional) ? type->element() : type);
      args.push_back(list->output());
    }
  }
  ir::Node* call = graph->insert(graph->create(*node.op, args));
  for (size_t i = 0; i < node.result_sizes.size(); ++i) {
    if (node.result_sizes[i] == kNone) {
      graph->add_output(call->output(i));
      continue;
    }
    ir::Node* unpack = graph->insert(graph->create(ir::kind::ListUnpack, {call->output(i)}, node.result_sizes[i]));
    for (ir::Value* v : unpack->outputs()) {
      v->set_type(tensor_type());
      graph->add_output(v);
    }
  }
  return graph;
}

std::string key_of(const Tape& tape, const TapeNode& node, const std::vector<ValueId>& inputs) {
  std::string key = node.op->qualified_name();
  for (const Value& v : node.args) key += "|" + std::string(tag_name(v.tag())) + v.repr();
  for (const TensorUse& use : node.uses)
    key += "|" + std::to_string(use.arg) + "." + std::to_string(use.item) + "=" +
           std::to_string(index_of(inputs, use.value));
  for (const ValueId v : inputs) key += "|" + geometry_text(tape.twin(v));
  return key;
}

// Whether the graph gives tensors of the geometry that the tape says.
bool gives(const ir::Graph& graph, const Tape& tape, const TapeNode& node) {
  if (graph.outputs().size() != node.results.size()) return false;
  for (size_t i = 0; i < node.results.size(); ++i) {
    if (!same_geometry(twin_of_type(graph.outputs()[i]->type()), tape.twin(node.results[i]))) return false;
  }
  return true;
}

}  // namespace

LoweredNode NodeLowering::lower(const Tape& tape, NodeId n) {
  const TapeNode& node = tape.nodes[n];
  std::vector<ValueId> inputs;
  for (const TensorUse& use : node.uses) {
    // Promotion treats a number that was made a tensor as a number, which no type tells.
    if (tape.twin(use.value).is_wrapped_number()) return {};
    if (index_of(inputs, use.value) == inputs.size()) inputs.push_back(use.value);
  }
  const auto [at, is_new] = known_.try_emplace(key_of(tape, node, inputs));
  LoweredNode& made = at->second;
  if (is_new) {
    std::vector<Tensor> twins;
    for (const ValueId v : inputs) twins.push_back(tape.twin(v));
    const auto straight = [&](const ir::Graph& graph) {
      const std::shared_ptr<ir::Graph> found = straighten(graph, twins);
      return found && gives(*found, tape, node) ? found : nullptr;
    };
    std::shared_ptr<ir::Graph> graph = graph_of_call(tape, node, inputs);
    const std::string_view level = dialect_.name;
    try {
      if (graph && level != "functional") lowering::find_dialect("core")->lower(*graph);
      if (graph) graph = straight(*graph);
      if (graph && level == "prims") {
        lowering::to_prims(*graph);
        graph = straight(*graph);
      }
    } catch (const Error&) {  // a lowering that fails is one that is not there
      graph = nullptr;
    }
    made.graph = graph;
    made.is_whole = graph != nullptr;
    if (graph) {
      for (const ir::Node* m : graph->nodes()) made.is_whole &= dialect_.has(*m);
    }
  }
  return {std::move(inputs), made.graph, made.is_whole};
}

}  // namespace sconce::executor
