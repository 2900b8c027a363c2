// The C interface: graph backends as tables of functions, and the graphs that these are shown.
#include <algorithm>
#include <unordered_map>

#include "sconce/api/c_api.h"
#include "sconce/executor/graph_backend.h"
#include "sconce/types/tensor_facts.h"

struct sconce_graph {
  const sconce::ir::Graph& graph;
  std::vector<const sconce::ir::Node*> nodes;  // but constants
  std::vector<std::string> names;              // of the nodes
  std::vector<const sconce::ir::Value*> values;
  std::unordered_map<const sconce::ir::Value*, size_t> numbers;
  std::vector<sconce::Tensor> constants;  // by input; none while operators are offered
  mutable std::string text;
};

namespace sconce::c_api {
namespace {

sconce_graph describe(const ir::Graph& graph, std::vector<Tensor> constants) {
  sconce_graph made{graph, {}, {}, {}, {}, std::move(constants), {}};
  const auto number = [&](const ir::Value* v) {
    made.numbers[v] = made.values.size();
    made.values.push_back(v);
  };
  for (const ir::Value* v : graph.inputs()) number(v);
  for (const ir::Node* node : graph.nodes()) {
    for (const ir::Value* v : node->outputs()) number(v);
    if (node->is(ir::kind::Constant)) continue;
    made.nodes.push_back(node);
    made.names.push_back(node->op() ? node->op()->qualified_name() : node->kind().text());
  }
  return made;
}

// What a function of the caller said, or that it said nothing.
std::string last_words() {
  const std::string message = sconce_last_error();
  return message.empty() ? "it does not say why (sconce_fail)" : message;
}

// The table of a program, as C++ has it.
class TableBackend final : public executor::GraphBackend, public std::enable_shared_from_this<TableBackend> {
 public:
  explicit TableBackend(const sconce_backend& table)
      : table_(table), name_(table.name), wants_(table.wants ? table.wants : "functional") {}

  std::string name() const override { return name_; }
  std::string wants() const override { return wants_; }

  bool takes(const ir::Node& node) override {
    const sconce_graph graph = describe(*node.graph(), {});
    const size_t at = static_cast<size_t>(std::ranges::find(graph.nodes, &node) - graph.nodes.begin());
    return table_.takes(table_.context, &graph, at) != 0;
  }

  std::shared_ptr<const executor::Callable> compile(const executor::Subgraph& part) override {
    const sconce_graph graph = describe(*part.graph, part.constants);
    const auto made = std::make_shared<Compiled>(shared_from_this());  // first: then nothing is left that could fail
    void* compiled = nullptr;
    const FreshError fresh;
    const sconce_status status = table_.compile(table_.context, &graph, &compiled);
    if (status != SCONCE_OK) fail("{}", last_words());
    made->set(compiled);
    return compiled ? made : nullptr;
  }

 private:
  class Compiled final : public executor::Callable {
   public:
    explicit Compiled(std::shared_ptr<const TableBackend> backend) : backend_(std::move(backend)) {}
    ~Compiled() override {
      const sconce_backend& table = backend_->table_;
      if (compiled_ && table.destroy) table.destroy(table.context, compiled_);
    }
    void set(void* compiled) { compiled_ = compiled; }

    void run(std::span<const Tensor> in, std::span<Tensor> out) const override {
      std::vector<sconce_value> read, written;
      std::vector<sconce_value*> inputs, outputs;
      for (const Tensor& t : in) read.push_back({Value(t)});
      for (const Tensor& t : out) written.push_back({Value(t)});
      for (sconce_value& v : read) inputs.push_back(&v);
      for (sconce_value& v : written) outputs.push_back(&v);
      const sconce_backend& table = backend_->table_;
      const FreshError fresh;
      const sconce_status status =
          table.run(table.context, compiled_, inputs.data(), inputs.size(), outputs.data(), outputs.size());
      for (size_t i = 0; i < outputs.size(); ++i) {
        if (outputs[i] == &written[i]) continue;
        const std::unique_ptr<sconce_value> own(outputs[i]);
        out[i] = own && own->v.is_tensor() ? own->v.to_tensor() : Tensor();
      }
      if (status != SCONCE_OK) fail("{}", last_words());
    }

   private:
    std::shared_ptr<const TableBackend> backend_;
    void* compiled_ = nullptr;
  };

  sconce_backend table_;
  std::string name_, wants_;
};

const ir::Node* find_node(const sconce_graph* graph, size_t node) {
  return graph && node < graph->nodes.size() ? graph->nodes[node] : nullptr;
}
size_t number_of(const sconce_graph* graph, const std::vector<ir::Value*>& values, size_t index) {
  return index < values.size() ? graph->numbers.at(values[index]) : SCONCE_NO_VALUE;
}
const ir::Value& value_at(const sconce_graph* graph, size_t value) {
  const sconce_graph& g = need(graph, "graph");
  if (value >= g.values.size()) invalid("there is no value {}, the graph has {}", value, g.values.size());
  return *g.values[value];
}

}  // namespace
}  // namespace sconce::c_api

using namespace sconce;
using namespace sconce::c_api;

// ---- graphs ----

size_t sconce_graph_node_count(const sconce_graph* graph) { return graph ? graph->nodes.size() : 0; }
const char* sconce_graph_node_name(const sconce_graph* graph, size_t node) {
  return find_node(graph, node) ? graph->names[node].c_str() : nullptr;
}
size_t sconce_graph_node_input_count(const sconce_graph* graph, size_t node) {
  const ir::Node* n = find_node(graph, node);
  return n ? n->inputs().size() : 0;
}
size_t sconce_graph_node_input(const sconce_graph* graph, size_t node, size_t index) {
  const ir::Node* n = find_node(graph, node);
  return n ? number_of(graph, n->inputs(), index) : SCONCE_NO_VALUE;
}
size_t sconce_graph_node_output_count(const sconce_graph* graph, size_t node) {
  const ir::Node* n = find_node(graph, node);
  return n ? n->outputs().size() : 0;
}
size_t sconce_graph_node_output(const sconce_graph* graph, size_t node, size_t index) {
  const ir::Node* n = find_node(graph, node);
  return n ? number_of(graph, n->outputs(), index) : SCONCE_NO_VALUE;
}
size_t sconce_graph_value_count(const sconce_graph* graph) { return graph ? graph->values.size() : 0; }
size_t sconce_graph_input_count(const sconce_graph* graph) { return graph ? graph->graph.inputs().size() : 0; }
size_t sconce_graph_input(const sconce_graph* graph, size_t index) {
  return graph ? number_of(graph, graph->graph.inputs(), index) : SCONCE_NO_VALUE;
}
size_t sconce_graph_output_count(const sconce_graph* graph) { return graph ? graph->graph.outputs().size() : 0; }
size_t sconce_graph_output(const sconce_graph* graph, size_t index) {
  return graph ? number_of(graph, graph->graph.outputs(), index) : SCONCE_NO_VALUE;
}

sconce_status sconce_graph_tensor(const sconce_graph* graph, size_t value, sconce_dtype* dtype, size_t* dimensions,
                                  const int64_t** sizes, const int64_t** strides) {
  return guarded([&] {
    const TypePtr type = value_at(graph, value).type();
    const TensorFacts* facts = type->is(TypeKind::tensor) ? type->tensor_facts() : nullptr;
    if (!facts) fail_as(ErrorKind::type, "value {} is of type {}, not a tensor", value, type->annotation());
    if (dtype) *dtype = static_cast<sconce_dtype>(*facts->dtype);
    if (dimensions) *dimensions = facts->sizes->size();
    if (sizes) *sizes = facts->sizes->data();
    if (strides) *strides = facts->strides->data();
  });
}

sconce_status sconce_graph_constant(const sconce_graph* graph, size_t value, sconce_value** out) {
  return guarded([&] {
    need(out, "out");
    const ir::Value& v = value_at(graph, value);
    if (const std::optional<Value> constant = ir::constant_value(&v)) {
      *out = new_value(*constant);
    } else if (value < graph->constants.size() && graph->constants[value].defined()) {  // inputs come first
      *out = new_value(graph->constants[value]);
    } else {
      fail_as(ErrorKind::value, "value {} is no constant", value);
    }
  });
}

const char* sconce_graph_text(const sconce_graph* graph) {
  if (!graph) return nullptr;
  const sconce_status status = guarded([&] {
    if (graph->text.empty()) graph->text = graph->graph.to_string(false);
  });
  return status == SCONCE_OK ? graph->text.c_str() : nullptr;
}

// ---- backends ----

sconce_status sconce_register_backend(const sconce_backend* backend) {
  return guarded([&] {
    const sconce_backend& table = need(backend, "backend");
    if (table.size != sizeof(sconce_backend))
      invalid("backend->size is {}, expected {}: the size of sconce_backend in version {}", table.size,
              sizeof(sconce_backend), SCONCE_API_VERSION);
    need(table.name, "backend->name");
    need(table.takes, "backend->takes");
    need(table.compile, "backend->compile");
    need(table.run, "backend->run");
    executor::keep_code(reinterpret_cast<const void*>(table.run));
    executor::register_backend(std::make_shared<TableBackend>(table));
  });
}

sconce_status sconce_set_backend(const char* name) {
  return guarded([&] { executor::set_backend(&need(name, "name")); });
}

size_t sconce_backend_count(void) {
  size_t count = 0;
  while (executor::backend_name(static_cast<uint32_t>(count))) ++count;
  return count;
}
const char* sconce_backend_name(size_t backend) {
  return backend < UINT32_MAX ? executor::backend_name(static_cast<uint32_t>(backend)) : nullptr;
}
