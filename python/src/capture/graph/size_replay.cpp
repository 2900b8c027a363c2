#include "capture/graph/size_replay.h"

#include <algorithm>
#include <unordered_map>

#include "capture/graph/python_call.h"
#include "sconce/autograd/autocast_mode.h"
#include "sconce/base/error.h"
#include "sconce/sconce.hpp"
#include "sconce/tensor/grad_mode.h"
#include "sconce/tensor/math_bits.h"
#include "sconce/tracing/tracer.h"
#include "tensor_object.h"

namespace sconce::python::capture {
namespace {

const Device kMeta{DeviceType::meta};
constexpr size_t kMostVerified = 4096;

Tensor on_meta(const Tensor& t) {
  Tensor made = empty_strided_tensor(t.sizes(), t.strides(), t.dtype(), kMeta);
  take_math_bits(*made.impl(), *t.impl());
  return made;
}

bool is_device(const Argument& a) {
  return a.type->is(TypeKind::device) || (a.type->is(TypeKind::optional) && a.type->element()->is(TypeKind::device));
}

void add_words(std::string& key, const void* words, size_t bytes) {
  key.append(static_cast<const char*>(words), bytes);
}

}  // namespace

struct SizeReplay::Builder {
  SizeReplay& made;
  const ir::Graph& graph;
  const std::vector<SourceId>& sources;
  const std::vector<Tensor>& held;
  std::unordered_map<const ir::Value*, int32_t> places;
  std::unordered_map<const ir::Node*, bool> wanted;

  int32_t add(Value v = {}) {
    made.initial_.push_back(std::move(v));
    return static_cast<int32_t>(made.initial_.size()) - 1;
  }

  // Which nodes lead there? Without recursion: a graph may be a chain of thousands.
  void want(const ir::Value* v) {
    std::vector<const ir::Node*> open{v->node()};
    while (!open.empty()) {
      const ir::Node* n = open.back();
      open.pop_back();
      if (!wanted.try_emplace(n, true).second) continue;
      for (const ir::Value* input : n->inputs()) open.push_back(input->node());
    }
  }

  // The place of a source among those that are asked for.
  int32_t source(SourceId id) {
    const auto at = std::find(made.sources_.begin(), made.sources_.end(), id);
    if (at != made.sources_.end()) return static_cast<int32_t>(at - made.sources_.begin());
    made.sources_.push_back(id);
    made.inputs_.push_back(-1);
    return static_cast<int32_t>(made.sources_.size()) - 1;
  }

  int32_t place(const ir::Value* v) {
    if (const auto at = places.find(v); at != places.end()) return at->second;
    // An input: of the call, or what the graph holds itself.
    const std::vector<ir::Value*>& inputs = graph.inputs();
    const auto at = std::find(inputs.begin(), inputs.end(), v);
    if (at == inputs.end()) return -1;
    const auto index = static_cast<size_t>(at - inputs.begin());
    const int32_t made_at = index < sources.size() ? add() : add(Value(on_meta(held[index - sources.size()])));
    if (index < sources.size()) made.inputs_[static_cast<size_t>(source(sources[index]))] = made_at;
    return places[v] = made_at;
  }

  bool node(const ir::Node& n) {
    if (n.is(ir::kind::Constant)) {
      const std::optional<Value> v = ir::constant_value(n.output());
      places[n.output()] = add(v ? *v : Value());
      return true;
    }
    Step step;
    if (n.is(ir::kind::ListConstruct)) {
      step.what = What::list;
      step.element = n.output()->type()->element();
    } else if (n.is(ir::kind::ListUnpack)) {
      step.what = What::unpack;
    } else if (!n.op() || !n.blocks().empty() || n.op() == &call_python_op()) {
      return false;
    }
    step.op = n.op();
    for (const ir::Value* v : n.inputs()) step.operands.push_back(place(v));
    if (step.what == What::call) put_on_meta(step);
    for (const ir::Value* v : n.outputs()) step.results.push_back(places[v] = add());
    const bool whole = std::find(step.operands.begin(), step.operands.end(), -1) == step.operands.end();
    made.steps_.push_back(std::move(step));
    return whole;
  }

  // Tensors that it makes have no memory.
  void put_on_meta(Step& step) {
    const std::vector<Argument>& arguments = step.op->schema().arguments;
    for (size_t i = 0; i < arguments.size() && i < step.operands.size(); ++i)
      if (is_device(arguments[i])) step.operands[i] = add(Value(kMeta));
  }

  bool build(const std::vector<SizeClaim>& claims) {
    for (const SizeClaim& c : claims) {
      if (c.value) want(c.value);
      for (const ir::Value* v : c.inputs) want(v);
    }
    for (const ir::Node* n : graph.nodes())
      if (wanted.contains(n) && !node(*n)) return false;
    for (const SizeClaim& c : claims) {
      Check check{c.kind, c.value ? place(c.value) : -1, c.dim, {}, c.op, {}, c.answers, c.comparison};
      if (c.value && check.value < 0) return false;
      for (const ir::Value* v : c.inputs) check.inputs.push_back(place(v));
      if (c.expected)
        check.expected.emplace_back(c.expected.get(), [&](int64_t id) { return source(static_cast<SourceId>(id)); });
      made.checks_.push_back(std::move(check));
    }
    return true;
  }
};

std::shared_ptr<SizeReplay> SizeReplay::make(const ir::Graph& graph, const std::vector<SourceId>& sources,
                                             const std::vector<Tensor>& held, const std::vector<SizeClaim>& claims) {
  auto made = std::make_shared<SizeReplay>();
  if (!Builder{*made, graph, sources, held, {}, {}}.build(claims)) return nullptr;
  return made;
}

bool SizeReplay::holds(std::span<PyObject* const> objects) {
  std::string key;
  for (PyObject* o : objects) {
    if (is_tensor(o)) {
      const Tensor& t = tensor_of(o);
      const int64_t rank = t.dim();
      add_words(key, &rank, sizeof rank);
      add_words(key, t.sizes().data(), t.sizes().size() * sizeof(int64_t));
      add_words(key, t.strides().data(), t.strides().size() * sizeof(int64_t));
    } else {
      const std::optional<Number> n = number_of(o);
      if (!n) return false;
      add_words(key, &n->i, sizeof n->i);
      add_words(key, &n->d, sizeof n->d);
    }
  }
  if (verified_.contains(key)) return true;
  if (!run(objects)) return false;
  if (verified_.size() >= kMostVerified) verified_.clear();
  verified_.insert(std::move(key));
  return true;
}

bool SizeReplay::run(std::span<PyObject* const> objects) const {
  const tracing::Paused unrecorded;
  const InferenceMode normal(false);
  const NoGrad unneeded;
  const autograd::AutocastOfMeta fakes_too;
  std::vector<Value> values = initial_;
  try {
    for (size_t i = 0; i < sources_.size(); ++i) {
      if (inputs_[i] < 0) continue;
      Value& v = values[static_cast<size_t>(inputs_[i])];
      if (is_tensor(objects[i])) {
        v = Value(on_meta(tensor_of(objects[i])));
      } else {
        const std::optional<Number> n = number_of(objects[i]);
        if (!n) return false;
        v = n->is_float ? Value(n->d) : Value(n->i);
      }
    }
    for (const Step& step : steps_) {
      std::vector<Value> args, results(step.results.size());
      for (const int32_t at : step.operands) args.push_back(values[static_cast<size_t>(at)]);
      switch (step.what) {
        case What::call:
          step.op->call_boxed(args.data(), results.data());
          break;
        case What::list: {
          auto list = make_ref<List>(step.element);
          for (const Value& v : args) list->append(v);
          results[0] = Value(std::move(list));
          break;
        }
        case What::unpack:
          if (args[0].to_list().size() != results.size()) return false;
          for (size_t i = 0; i < results.size(); ++i) results[i] = args[0].to_list().get(i);
          break;
      }
      for (size_t i = 0; i < results.size(); ++i) values[static_cast<size_t>(step.results[i])] = std::move(results[i]);
    }
    return std::all_of(checks_.begin(), checks_.end(),
                       [&](const Check& check) { return holds(check, values, objects); });
  } catch (const Error&) {
    return false;  // the program raises for these sizes: recorded for them, it says where
  }
}

bool SizeReplay::holds(const Check& check, std::vector<Value>& values, std::span<PyObject* const> objects) const {
  if (check.kind == SizeClaim::Kind::query) {
    std::vector<Value> args, answers(check.answers.size());
    for (const int32_t at : check.inputs) args.push_back(values[static_cast<size_t>(at)]);
    check.op->call_boxed(args.data(), answers.data());
    for (size_t i = 0; i < answers.size(); ++i)
      if (answers[i].repr() != check.answers[i].repr()) return false;
    return true;
  }
  if (check.kind == SizeClaim::Kind::compare) {
    const auto number = [&](size_t i) {
      const Value& v = values[static_cast<size_t>(check.inputs[i])];
      return v.is_int() ? Number(v.to_int()) : Number(v.to_double());
    };
    const std::optional<Number> is = compute(check.comparison, number(0), number(1));
    return is && is->i == check.answers[0].to_int();
  }
  const Value& v = values[static_cast<size_t>(check.value)];
  const std::optional<Number> expected = check.expected[0].value(objects.data());
  if (!expected) return false;
  if (check.kind == SizeClaim::Kind::count) return static_cast<int64_t>(v.to_list().size()) == expected->i;
  const Tensor& t = v.to_tensor();
  if (check.kind == SizeClaim::Kind::rank) return t.dim() == expected->i;
  if (check.dim >= t.dim()) return false;
  return (check.kind == SizeClaim::Kind::size ? t.size(check.dim) : t.stride(check.dim)) == expected->i;
}

}  // namespace sconce::python::capture
