#include "capture/graph/stages.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "capture/graph/compiled_graph.h"
#include "capture/graph/python_call.h"
#include "tensor_object.h"

namespace sconce::python::capture {
namespace {

// A stage of fewer operators is not worth a plan: the whole graph is called one by one then.
constexpr size_t kWorthAPlan = 8;

bool is_call(const ir::Node* n) { return n->op() == &call_python_op(); }
// What belongs to a call: the list that it takes, the constant that is its number, the items that it returns.
bool is_part_of_call(const ir::Node* n) {
  if (n->is(ir::kind::ListUnpack)) return is_call(n->input()->node());
  if (!n->is(ir::kind::ListConstruct) && !n->is(ir::kind::Constant)) return false;
  const std::vector<ir::Use>& uses = n->output()->uses();
  return !uses.empty() && std::all_of(uses.begin(), uses.end(), [](const ir::Use& u) { return is_call(u.user); });
}

// The argument that an operator writes to and returns: x.t_() is x. Null: the value is a tensor of its own.
const ir::Value* written_argument(const ir::Value* v) {
  const ir::Node* n = v->node();
  if (n->op() == nullptr || !n->op()->schema().is_mutable()) return nullptr;
  const Schema& schema = n->op()->schema();
  const std::optional<AliasInfo>& of = schema.returns.at(v->offset()).alias;
  if (!of || !of->write) return nullptr;
  for (size_t i = 0; i < schema.arguments.size(); ++i) {
    const std::optional<AliasInfo>& alias = schema.arguments[i].alias;
    if (alias && alias->write && alias->before == of->before) return n->input(i);
  }
  return nullptr;
}

}  // namespace

struct Stages::Builder {
  Stages& made;
  const ir::Graph& graph;
  std::unordered_map<const ir::Value*, size_t> slots;
  std::vector<const ir::Node*> nodes;  // of the stage that grows
  size_t largest = 0;

  size_t slot(const ir::Value* v) {
    const auto [at, fresh] = slots.try_emplace(v, made.slots_);
    if (fresh) ++made.slots_;
    return at->second;
  }

  // The nodes so far as a graph; false: numbers or lists cross its border.
  bool close() {
    if (nodes.empty()) return true;
    const std::unordered_set<const ir::Node*> inside(nodes.begin(), nodes.end());
    auto part = std::make_shared<ir::Graph>();
    ir::Block::ValueMap map;
    Stage stage;
    for (const ir::Node* n : nodes) {
      for (ir::Value* v : n->inputs()) {
        if (map.contains(v)) continue;
        if (v->node()->is(ir::kind::Constant)) {
          map[v] = part->insert(part->create_copy(*v->node(), map))->output();
          continue;
        }
        if (!v->type()->is(TypeKind::tensor)) return false;
        map[v] = part->add_input(sconce::tensor_type());
        stage.inputs.push_back(slot(v));
      }
      ir::Node* copy = part->insert(part->create_copy(*n, map));
      for (size_t i = 0; i < n->outputs().size(); ++i) map[n->output(i)] = copy->output(i);
    }
    std::vector<ir::Value*> results;
    size_t operators = 0;
    for (const ir::Node* n : nodes) {
      operators += n->op() != nullptr;
      for (ir::Value* v : n->outputs()) {
        const bool leaves =
            std::any_of(v->uses().begin(), v->uses().end(), [&](const ir::Use& u) { return !inside.contains(u.user); });
        if (!leaves || n->is(ir::kind::Constant)) continue;
        if (!v->type()->is(TypeKind::tensor)) return false;
        // x.t_() of a tensor that comes from another stage: the tensor itself goes on, as it was turned there.
        const ir::Value* same = v;
        while (const ir::Value* written = inside.contains(same->node()) ? written_argument(same) : nullptr)
          same = written;
        if (!inside.contains(same->node())) {
          slots.insert_or_assign(v, slot(same));
          continue;
        }
        results.push_back(map.at(v));
        stage.outputs.push_back(slot(v));
      }
    }
    largest = std::max(largest, operators);
    ir::Node* tuple = part->create(ir::kind::TupleConstruct, results, 1);
    tuple->output()->set_type(tuple_type(std::vector<TypePtr>(results.size(), sconce::tensor_type())));
    part->add_output(part->insert(tuple)->output());
    const std::vector<PyObject*> outputs(results.size(), Py_None);
    stage.graph = make_compiled_graph({std::move(part), {}, outputs, {}, Py_None, Py_None, false, nullptr, {}});
    made.stages_.push_back(std::move(stage));
    nodes.clear();
    return true;
  }

  bool call(const ir::Node* n) {
    const std::optional<Value> number = ir::constant_value(n->input(0));
    const ir::Node* list = n->input(1)->node();
    if (!number || !list->is(ir::kind::ListConstruct)) return false;
    Stage stage;
    stage.call = number->to_int();
    for (const ir::Value* v : list->inputs()) stage.inputs.push_back(slot(v));
    for (const ir::Use& u : n->output()->uses())
      if (u.user->is(ir::kind::ListUnpack))
        for (const ir::Value* v : u.user->outputs()) stage.outputs.push_back(slot(v));
    made.stages_.push_back(std::move(stage));
    return true;
  }

  // Values go where they are used last.
  void find_last_uses() {
    std::vector<bool> used(made.slots_);
    for (const size_t s : made.outputs_) used[s] = true;
    for (size_t i = made.stages_.size(); i-- > 0;) {
      Stage& stage = made.stages_[i];
      for (const std::vector<size_t>* some : {&stage.inputs, &stage.outputs}) {
        for (const size_t s : *some) {
          if (used[s]) continue;
          used[s] = true;
          stage.last_uses.push_back(s);
        }
      }
    }
  }

  bool build() {
    for (const ir::Value* v : graph.inputs()) {
      if (!v->type()->is(TypeKind::tensor)) return false;
      slot(v);
    }
    const ir::Node* result = graph.outputs().at(0)->node();
    for (const ir::Node* n : graph.nodes()) {
      if (n == result || is_part_of_call(n)) continue;
      if (!is_call(n)) {
        nodes.push_back(n);
      } else if (!close() || !call(n)) {
        return false;
      }
    }
    if (!close() || largest < kWorthAPlan) return false;
    for (const ir::Value* v : result->inputs()) {
      if (!slots.contains(v)) return false;
      made.outputs_.push_back(slot(v));
    }
    find_last_uses();
    return true;
  }
};

std::unique_ptr<Stages> Stages::make(const ir::Graph& graph) {
  auto made = std::make_unique<Stages>();
  if (!Builder{*made, graph, {}, {}}.build()) return nullptr;
  return made;
}

void Stages::run(std::span<PyObject* const> inputs, std::span<Owned> outputs) const {
  std::vector<Owned> slots(slots_);
  for (size_t i = 0; i < inputs.size(); ++i) slots[i] = Owned::share(inputs[i]);
  for (const Stage& stage : stages_) {
    if (stage.graph) {
      std::vector<PyObject*> given;
      for (const size_t s : stage.inputs) given.push_back(slots[s].get());
      std::vector<Owned> results(stage.outputs.size());
      run_graph(stage.graph.get(), given.data(), results);
      for (size_t i = 0; i < results.size(); ++i) slots[stage.outputs[i]] = std::move(results[i]);
    } else {
      auto list = make_ref<List>(sconce::tensor_type());
      for (const size_t s : stage.inputs) list->append(Value(tensor_of(slots[s].get())));
      const Value made = call_python_number(stage.call, *list);
      for (size_t i = 0; i < stage.outputs.size(); ++i)
        slots[stage.outputs[i]] = wrap(made.to_list().get(i).to_tensor());
    }
    for (const size_t s : stage.last_uses) slots[s] = Owned();
  }
  for (size_t i = 0; i < outputs.size(); ++i) outputs[i] = Owned::share(slots[outputs_[i]].get());
}

}  // namespace sconce::python::capture
