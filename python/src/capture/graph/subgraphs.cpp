// GraphRecorder: parts of the graph that become graphs of their own, the branches and bodies of control-flow operators.
//
// Note [Parts]
// A part is recorded as everything is, between begin_part and end_part. make_parts then lifts what its nodes take
// from outside to inputs, the same ones for all parts, copies the nodes into new graphs, and takes them out of this
// one. Operands of a body that runs again and again are placeholders: fakes of their own, so that the body's own
// argument and a tensor that it finds in its closure stay apart when both are the same tensor.
#include <algorithm>
#include <unordered_set>

#include "capture/graph/compiled_graph.h"
#include "capture/graph/graph_recorder.h"
#include "sconce/base/error.h"
#include "tensor_object.h"

namespace sconce::python::capture {

void GraphRecorder::open_parts() { part_sets_.emplace_back(); }

void GraphRecorder::begin_part() {
  if (torch_) throw NotRecordable{"control flow over PyTorch's tensors"};
  if (symbols_.any()) symbols_.fix_all();
  match_modes();
  Part part;
  part.marker = graph_->insert(graph_->create_constant(Value()));
  part.logged = log_.size();
  part.python_calls = python_calls_.size();
  part.claims = claims_.size();
  part_sets_.back().push_back(std::move(part));
}

void GraphRecorder::end_part(std::span<PyObject* const> outputs) {
  match_modes();
  if (symbols_.any()) symbols_.fix_all();
  Part& part = part_sets_.back().back();
  claims_.erase(claims_.begin() + static_cast<ptrdiff_t>(part.claims), claims_.end());  // all sizes are fixed
  for (ir::Node* n = part.marker->next(); n != graph_->block()->return_node(); n = n->next()) part.nodes.push_back(n);
  for (PyObject* output : outputs) {
    const Known* k = known(output);
    if (k == nullptr) throw NotRecordable{"a branch or body that returns what is no tensor"};
    const bool made_inside = std::find(part.nodes.begin(), part.nodes.end(), k->value->node()) != part.nodes.end();
    if (!made_inside) throw NotRecordable{"a branch or body that returns a tensor that it was given"};
    part.outputs.push_back(Owned::share(output));
    part.results.push_back(k->value);
  }
  part.log = log_.take_calls(part.logged);
  for (size_t i = part.python_calls; i < python_calls_.size(); ++i) part.calls.push_back(std::move(python_calls_[i]));
  python_calls_.resize(part.python_calls);
}

// Calls a function over fakes, unrecorded: a fake that looks as its result, to be a value of the graph later.
Owned GraphRecorder::pending(PyObject* function, std::span<PyObject* const> args) {
  Owned made = run_unrecorded(function, args, nullptr);
  if (!is_tensor(made.get()) || known(made.get()) != nullptr) throw NotRecordable{"control flow over such operands"};
  set_result(Value(tensor_of(made.get())), nullptr, home_, {});
  return made;
}

Owned GraphRecorder::ask(PyObject* function, std::span<PyObject* const> args) {
  return run_unrecorded(function, args, nullptr);
}

bool GraphRecorder::draws(PyObject* graph) const {
  return std::any_of(drawing_parts_.begin(), drawing_parts_.end(), [&](const Owned& g) { return g.get() == graph; });
}

Owned GraphRecorder::placeholder(PyObject* function, std::span<PyObject* const> args) {
  Owned made = pending(function, args);
  ir::Node* node = graph_->create_constant(Value());
  node->output()->set_type(sconce::tensor_type());
  graph_->insert(node);
  known_[tensor_of(made.get()).impl()].value = node->output();
  placeholders_.push_back(node);
  return made;
}

// `operands`: fakes that are the first inputs of each graph. The others are returned in `lifted`.
std::vector<Owned> GraphRecorder::make_parts(std::span<PyObject* const> operands, std::vector<Owned>& lifted) {
  std::vector<Part> parts = std::move(part_sets_.back());
  part_sets_.pop_back();
  std::unordered_set<const ir::Node*> inside;
  for (const Part& part : parts) inside.insert(part.nodes.begin(), part.nodes.end());
  std::vector<ir::Value*> inputs;
  std::vector<Owned> fakes;
  for (PyObject* operand : operands) {
    inputs.push_back(known(operand)->value);
    fakes.push_back(Owned::share(operand));
  }
  const auto is_constant_node = [&](const ir::Value* v) {
    return v->node()->is(ir::kind::Constant) &&
           std::find(placeholders_.begin(), placeholders_.end(), v->node()) == placeholders_.end();
  };
  const auto lift = [&](ir::Value* v) {
    if (inside.contains(v->node()) || is_constant_node(v) || std::find(inputs.begin(), inputs.end(), v) != inputs.end())
      return;
    for (const auto& [impl, k] : known_) {
      if (k.value != v) continue;
      inputs.push_back(v);
      fakes.push_back(k.object ? Owned::share(k.object.get()) : wrap(k.kept));
      lifted.push_back(Owned::share(fakes.back().get()));
      return;
    }
    throw NotRecordable{"a branch or body that takes more than tensors from outside"};
  };
  for (const Part& part : parts)
    for (const ir::Node* n : part.nodes)
      for (ir::Value* v : n->inputs()) lift(v);
  std::vector<Owned> graphs;
  for (Part& part : parts) {
    auto made = std::make_shared<ir::Graph>();
    ir::Block::ValueMap map;
    for (ir::Value* v : inputs) map[v] = made->add_input(sconce::tensor_type());
    for (const ir::Node* n : part.nodes) {
      for (ir::Value* v : n->inputs()) {
        if (map.contains(v)) continue;
        map[v] = made->insert(made->create_copy(*v->node(), map))->output();  // a constant from outside
      }
      ir::Node* copy = made->insert(made->create_copy(*n, map));
      for (size_t i = 0; i < n->outputs().size(); ++i) map[n->output(i)] = copy->output(i);
    }
    std::vector<ir::Value*> results;
    for (ir::Value* v : part.results) results.push_back(map.at(v));
    ir::Node* tuple = made->create(ir::kind::TupleConstruct, results, 1);
    tuple->output()->set_type(tuple_type(std::vector<TypePtr>(results.size(), sconce::tensor_type())));
    made->add_output(made->insert(tuple)->output());
    std::vector<PyObject*> outputs;
    for (const Owned& o : part.outputs) outputs.push_back(o.get());
    CallLog log;
    for (size_t i = 0; i < fakes.size(); ++i)
      log.add_input("arg" + std::to_string(i) + "_1", fakes[i].get(), fakes[i].get());
    log.append(std::move(part.log));
    graphs.push_back(make_compiled_graph({std::move(made),
                                          {},
                                          outputs,
                                          std::move(log),
                                          Py_None,
                                          Py_None,
                                          changes_modes_ || modes_at_start_.autocast,
                                          nullptr,
                                          std::move(part.calls)}));
    if (std::any_of(part.nodes.begin(), part.nodes.end(), [&](const ir::Node* n) {
          if (n->op() != &call_python_op()) return n->op() != nullptr && n->op()->has(Trait::random);
          const std::optional<Value> number = ir::constant_value(n->input(0));
          return !number || drawing_calls_.contains(number->to_int());
        }))
      drawing_parts_.push_back(Owned::share(graphs.back().get()));
  }
  std::unordered_set<const ir::Value*> gone;
  std::unordered_set<const TensorImpl*> kept_results;
  for (const ir::Node* n : inside) gone.insert(n->outputs().begin(), n->outputs().end());
  for (const Part& part : parts)
    for (const Owned& o : part.outputs) kept_results.insert(tensor_of(o.get()).impl());
  std::vector<ir::Node*> over;  // placeholders that were operands here
  std::erase_if(placeholders_, [&](ir::Node* n) {
    if (std::find(inputs.begin(), inputs.end(), n->output()) == inputs.end() ||
        std::none_of(operands.begin(), operands.end(), [&](PyObject* o) { return known(o)->value == n->output(); }))
      return false;
    over.push_back(n);
    gone.insert(n->output());
    return true;
  });
  for (size_t i = parts.size(); i-- > 0;) {
    for (size_t j = parts[i].nodes.size(); j-- > 0;) parts[i].nodes[j]->destroy();
    parts[i].marker->destroy();
  }
  for (ir::Node* n : over) n->destroy();
  // What was made inside is gone, but for what stands for the results.
  std::erase_if(known_, [&](const auto& entry) {
    if (entry.second.value == nullptr || !gone.contains(entry.second.value)) return false;
    return kept_results.find(entry.first) == kept_results.end();
  });
  return graphs;
}

}  // namespace sconce::python::capture
