#include "capture/graph/compiled_graph.h"

#include <structmember.h>

#include <unordered_set>

#include "capture/frames/frame_hook.h"
#include "capture/graph/call_tape.h"
#include "capture/graph/graph_doors.h"
#include "capture/graph/modes.h"
#include "capture/graph/recorder.h"
#include "capture/graph/stages.h"
#include "capture/graph/sym_int.h"
#include "capture/guards/number.h"
#include "long_call.h"
#include "programs/graph_builder.h"
#include "sconce/api/compile/frozen_inputs.h"
#include "sconce/api/rng_state.h"
#include "sconce/autograd/autocast_mode.h"
#include "sconce/autograd/variable.h"
#include "sconce/base/error.h"
#include "sconce/base/inline_vector.h"
#include "sconce/ir/alias.h"
#include "sconce/ir/effects.h"
#include "sconce/ir/function.h"
#include "sconce/runtime/interpreter.h"
#include "sconce/sconce.hpp"
#include "sconce/tensor/grad_mode.h"
#include "tensor_object.h"
#include "values.h"

namespace sconce::python::capture {
namespace {

// May the program's function run from its start when the graph has failed?
enum class Undo : uint8_t { always, if_unwritten, if_restored };

// Whether the graph runs with its outside inputs as constants.
struct Freezing {
  std::vector<uint32_t> outside;
  std::vector<TensorImpl*> seen;  // of the call before; compared, not used
  std::unique_ptr<jit::FrozenInputs> frozen;
  int calls = 0;     // with these
  int patience = 2;  // calls with the same tensors until they are frozen: twice as many after each change
};
struct Held {
  ir::CompilationUnit unit;
  ir::Function* function = nullptr;
  std::vector<Tensor> tensors;  // inputs that it gives itself, behind those of the call
  CallLog log;
  std::vector<Owned> outputs;
  std::unique_ptr<CallTape> tape;
  std::vector<std::unique_ptr<PythonCallNumber>> python_calls;
  std::unique_ptr<DenseTape> dense;
  int runs = 0;  // before dense was asked for
  Freezing freezing;
  std::unique_ptr<Stages> stages;  // of a graph with such calls
  size_t inputs = 0;
  bool has_numbers = false;  // among the inputs of the call
  bool by_plans = true, by_calls = false, is_single = false;
  bool has_histories = false;  // more than one result may require gradients
  Undo undo = Undo::always;
  std::vector<size_t>
      written;  // inputs that are written before something that may fail: those of the call, then held ones
  bool draws_early = false;  // the same for random numbers
};
struct CompiledGraphObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  Held* held;
  PyObject* module;   // the fx.GraphModule, when it was made
  PyObject* backend;  // what the backend returned; null: the function runs here
  PyObject* torch;    // of programs over PyTorch's tensors: takes the graph and these, calls _run
  int number;         // of its name
};
extern PyTypeObject compiled_graph_type;

CompiledGraphObject& compiled(PyObject* self) { return *reinterpret_cast<CompiledGraphObject*>(self); }

// A graph of so few operators on so few elements is not worth a plan.
constexpr size_t kFewCalls = 4;
constexpr double kLittleWork = 4096;
constexpr size_t kMostOfSingle = 4;  // inputs

constexpr size_t kMostOfDense = 16;  // inputs
constexpr size_t kDenseOutputs = 4;

// An operator that fails does so as in eager: with its own class of exception, without the lines of a program.
[[noreturn]] void rethrow(const runtime::ScriptError& error) {
  std::string reason = error.reason();
  throw Error(error.kind(), std::move(reason));
}

void run_tape(const Held& held, PyObject* const* args, double work, std::span<Value> outputs) {
  InlineVector<const Tensor*, 16> inputs(held.inputs + held.tensors.size());
  for (size_t i = 0; i < held.inputs; ++i) inputs.data()[i] = &tensor_of(args[i]);
  for (size_t i = 0; i < held.tensors.size(); ++i) inputs.data()[held.inputs + i] = &held.tensors[i];
  const std::span<const Tensor* const> given(inputs.data(), held.inputs + held.tensors.size());
  std::optional<ModesScope> modes;
  if (held.by_calls) modes.emplace();
  run_long(work, [&] { return (held.tape->run(given, outputs), 0); });
  if (held.by_calls && !autograd::autocast_enabled()) autograd::clear_autocast_cache();
}

// An input of a call as the graph takes it. Throws TypeError for another kind of object.
Value input_value(const Held& held, size_t i, PyObject* object) {
  const TypePtr type = held.function->graph()->inputs()[i]->type();
  if (is_tensor(object)) return Value(tensor_of(object));
  const std::optional<Number> number = number_of(object);
  const bool fits = number && type->is(number->is_float ? TypeKind::float_ : TypeKind::int_);
  SCONCE_CHECK_AS(type, fits, "input {} of a compiled graph must be a {}, not {}", i,
                  type->is(TypeKind::int_)     ? "number: int"
                  : type->is(TypeKind::float_) ? "number: float"
                                               : "tensor",
                  class_name(object));
  return number->is_float ? Value(number->d) : Value(number->i);
}

// Numbers change from call to call, and plans are made for the numbers that they see: operators are called one by one.
void run_with_numbers(const Held& held, PyObject* const* args, double work, std::span<Value> outputs) {
  InlineVector<Value, 16> values(held.inputs + held.tensors.size());
  for (size_t i = 0; i < held.inputs; ++i) values.data()[i] = input_value(held, i, args[i]);
  for (size_t i = 0; i < held.tensors.size(); ++i) values.data()[held.inputs + i] = Value(held.tensors[i]);
  const std::span<Value> given(values.data(), held.inputs + held.tensors.size());
  std::optional<ModesScope> modes;
  if (held.by_calls) modes.emplace();
  const bool grad = grad_enabled();
  try {
    run_long(work, [&] { return (held.tape->run(given, outputs), 0); });
  } catch (...) {
    set_grad_enabled(grad);
    throw;
  }
  if (held.by_calls && !autograd::autocast_enabled()) autograd::clear_autocast_cache();
}

// Sees nothing: plans leave runs with an observer to the interpreter.
struct Nobody final : runtime::Observer {
  void before(const runtime::Code&, size_t, const Value*) override {}
};

// A plan computes what is written twice once, and gives an input for a view that is all of it; eagerly these are objects
// of their own (what is one object eagerly is one output, or none).
void keep_apart(const Held& held, PyObject* const* args, std::span<Value> outputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].is_tensor()) continue;
    const TensorImpl* made = outputs[i].to_tensor().impl();
    const auto is_made = [&](const Value& v) { return v.is_tensor() && v.to_tensor().impl() == made; };
    const auto is_input = [&](PyObject* o) { return is_tensor(o) && tensor_of(o).impl() == made; };
    if (std::any_of(args, args + held.inputs, is_input) ||
        std::any_of(held.tensors.begin(), held.tensors.end(), [&](const Tensor& t) { return t.impl() == made; }) ||
        std::any_of(outputs.begin(), outputs.begin() + static_cast<ptrdiff_t>(i), is_made))
      outputs[i] = Value(sconce::alias(outputs[i].to_tensor()));
  }
}

// Calls that differ in their outside inputs again and again, as those of a training loop, are left alone.
constexpr int kMostPatience = 1024;

// The frozen graph for a call, or null. `inputs`: all of them.
jit::FrozenInputs* frozen_for(Held& held, std::span<const Value> inputs) {
  Freezing& f = held.freezing;
  if (f.outside.empty() || !held.by_plans) return nullptr;
  if (grad_enabled() && std::any_of(inputs.begin(), inputs.end(),
                                    [](const Value& v) { return v.is_tensor() && v.to_tensor().requires_grad(); }))
    return nullptr;
  if (f.frozen) {
    if (f.frozen->hold(inputs)) return f.frozen.get();
    f.frozen = nullptr;
    f.seen.clear();
    f.patience = std::min(2 * f.patience, kMostPatience);
  }
  bool same = f.seen.size() == f.outside.size();
  f.seen.resize(f.outside.size());
  for (size_t i = 0; i < f.outside.size(); ++i) {
    TensorImpl* now = inputs[f.outside[i]].to_tensor().impl();
    same = std::exchange(f.seen[i], now) == now && same;
  }
  f.calls = same ? f.calls + 1 : 0;
  if (f.calls < f.patience) return nullptr;
  f.frozen = jit::FrozenInputs::make(*held.function->graph(), inputs, f.outside);
  if (!f.frozen) f.outside.clear();
  return f.frozen.get();
}

void run_function(Held& held, PyObject* const* args, double work, std::span<Value> outputs) {
  const size_t count = held.inputs + held.tensors.size();
  InlineVector<Value, 16> values(count);
  for (size_t i = 0; i < held.inputs; ++i)
    values.data()[i] = held.has_numbers ? input_value(held, i, args[i]) : Value(tensor_of(args[i]));
  for (size_t i = 0; i < held.tensors.size(); ++i) values.data()[held.inputs + i] = Value(held.tensors[i]);
  jit::FrozenInputs* frozen = frozen_for(held, {values.data(), count});
  if (frozen) {
    size_t n = 0;
    for (const uint32_t i : frozen->others()) std::swap(values.data()[n++], values.data()[i]);
  }
  const std::span<Value> given(values.data(), frozen ? frozen->others().size() : count);
  const bool grad = grad_enabled();
  try {
    const Value result = run_long(work, [&] {
      if (held.by_plans) return runtime::run(frozen ? frozen->function() : *held.function, given);
      Nobody nobody;
      return runtime::run(*held.function, given, {.observer = &nobody});
    });
    const std::vector<Value>& items = result.to_tuple().items;
    for (size_t i = 0; i < outputs.size(); ++i) outputs[i] = items[i];  // behind them: keep_unused
    keep_apart(held, args, outputs);
  } catch (const runtime::ScriptError& error) {
    set_grad_enabled(grad);
    rethrow(error);
  } catch (...) {
    set_grad_enabled(grad);
    throw;
  }
}

void run_stages(const Held& held, PyObject* const* args, std::span<Value> outputs) {
  std::vector<Owned> kept, results(outputs.size());
  std::vector<PyObject*> given(args, args + held.inputs);
  for (const Tensor& t : held.tensors) given.push_back(kept.emplace_back(wrap(t)).get());
  const ModesScope modes;
  held.stages->run(given, results);
  for (size_t i = 0; i < outputs.size(); ++i) outputs[i] = Value(tensor_of(results[i].get()));
}

// A region of a plan is one node in the history of all its results: after backward from one of them it is none for the
// others.
bool needs_histories(const Held& held, PyObject* const* args) {
  const auto has_history = [](PyObject* o) { return is_tensor(o) && tensor_of(o).requires_grad(); };
  return held.has_histories && held.tape && grad_enabled() && std::any_of(args, args + held.inputs, has_history);
}

void run_values(Held& held, PyObject* const* args, std::span<Value> outputs) {
  double work = 0;
  for (size_t i = 0; i < held.inputs; ++i) {
    if (held.has_numbers && !is_tensor(args[i])) continue;
    SCONCE_CHECK_AS(type, is_tensor(args[i]), "input {} of a compiled graph must be a tensor, not {}", i,
                    class_name(args[i]));
    work += static_cast<double>(tensor_of(args[i]).numel());
  }
  if (held.stages)
    run_stages(held, args, outputs);
  else if (held.has_numbers && held.tape)
    run_with_numbers(held, args, work, outputs);
  else if (held.by_calls || needs_histories(held, args) ||
           (held.tape && held.tape->size() <= kFewCalls && work <= kLittleWork && held.by_plans))
    run_tape(held, args, work, outputs);
  else
    run_function(held, args, work, outputs);
}

Owned run_to_tuple(Held& held, PyObject* const* args) {
  InlineVector<Value, 4> outputs(held.outputs.size());
  run_values(held, args, {outputs.data(), held.outputs.size()});
  Owned tuple = Owned::take(PyTuple_New(static_cast<Py_ssize_t>(held.outputs.size())));
  for (size_t i = 0; i < held.outputs.size(); ++i)
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), object_of(outputs.data()[i]).give());
  return tuple;
}

// A graph of one operator on few elements: its result, or nothing where the ordinary way is due.
Owned run_single(const Held& held, PyObject* const* args) {
  const Tensor* inputs[kMostOfSingle];
  int64_t work = 0;
  for (size_t i = 0; i < held.inputs; ++i) {
    if (!is_tensor(args[i])) return {};
    inputs[i] = &tensor_of(args[i]);
    work += inputs[i]->numel();
  }
  if (static_cast<double>(work) > kLittleWork) return {};
  return wrap(held.tape->run_single(inputs));
}

// The tape of loops is made when a graph runs for the second time; graphs that run once do without.
void make_dense(Held& held, PyObject* const* args) {
  if (held.runs >= 2 || ++held.runs < 2 || !held.tape || !held.by_plans || held.by_calls || held.has_numbers) return;
  const Tensor* inputs[kMostOfDense];
  const size_t count = held.inputs + held.tensors.size();
  if (count > kMostOfDense || held.outputs.size() > kDenseOutputs) return;
  for (size_t i = 0; i < held.inputs; ++i) {
    if (!is_tensor(args[i])) return;
    inputs[i] = &tensor_of(args[i]);
  }
  for (size_t i = held.inputs; i < count; ++i) inputs[i] = &held.tensors[i - held.inputs];
  held.dense = held.tape->make_dense({inputs, count});
}

bool run_dense(const Held& held, PyObject* const* args, Tensor* outputs) {
  const Tensor* inputs[kMostOfDense];
  for (size_t i = 0; i < held.inputs; ++i) inputs[i] = &tensor_of(args[i]);
  for (size_t i = 0; i < held.tensors.size(); ++i) inputs[held.inputs + i] = &held.tensors[i];
  return held.dense->run(inputs, outputs);
}

Owned run_backend(const CompiledGraphObject& object, PyObject* const* args) {
  const HookPause pause;  // its functions are no part of the program
  const Owned made = Owned::take(PyObject_Vectorcall(object.backend, args, object.held->inputs, nullptr));
  return Owned::take(is_tensor(made.get()) ? PyTuple_Pack(1, made.get()) : PySequence_Tuple(made.get()));
}

bool draws_inside(const ir::Node& node) {
  if (node.op() != nullptr && node.op()->has(Trait::random)) return true;
  for (const ir::Block* block : node.blocks())
    for (const ir::Node* n : block->nodes())
      if (draws_inside(*n)) return true;
  return false;
}

// May it fail on the values of tensors? Arithmetic and views do not.
bool may_fail(const ir::Node& node) {
  if (!node.blocks().empty()) return true;
  return node.op() != nullptr && !node.op()->has(Trait::pointwise) && !node.op()->has(Trait::view) &&
         !node.op()->has(Trait::reduction);
}

void find_undo(Held& held) {
  const ir::Graph& graph = *held.function->graph();
  held.undo = Undo::always;
  bool draws = false, fails_later = false;
  std::vector<const ir::Node*> writers;
  for (const ir::Node* n : graph.nodes()) {
    if (n->op() == &call_python_op()) {  // behind one that changes something nothing can be taken back
      const PythonCall* call = python_call_of(*n);
      if (call == nullptr || !call->is_pure) break;
    }
    if ((draws || !writers.empty()) && may_fail(*n)) fails_later = true;
    if (ir::may_write(*n)) {
      writers.push_back(n);
      held.undo = Undo::if_unwritten;
    }
    if (draws_inside(*n)) {
      // One that fails in the middle has drawn already. Most say what is wrong with their arguments before.
      draws = true;
      if (held.undo == Undo::always) held.undo = Undo::if_restored;
    }
  }
  if (draws) held.undo = Undo::if_restored;
  held.draws_early = draws && fails_later;
  if (writers.empty() || !fails_later) return;
  held.undo = Undo::if_restored;
  const ir::AliasFacts facts(graph);
  for (size_t i = 0; i < graph.inputs().size(); ++i)
    if (graph.inputs()[i]->type()->is(TypeKind::tensor) && facts.has_writers(graph.inputs()[i]))
      held.written.push_back(i);
}

PyObject* run(PyObject* self, PyObject* const* args, size_t flags, PyObject* names) {
  return guarded([&]() -> PyObject* {
    const CompiledGraphObject& object = compiled(self);
    Held& held = *object.held;
    const auto n = static_cast<size_t>(PyVectorcall_NARGS(flags));
    SCONCE_CHECK_AS(type, n == held.inputs && (names == nullptr || PyTuple_GET_SIZE(names) == 0),
                    "a compiled graph takes {} inputs, not {} arguments", held.inputs, n);
    if (object.torch != nullptr) {
      const HookPause pause;
      std::vector<PyObject*> given{self};
      given.insert(given.end(), args, args + n);
      return PyObject_Vectorcall(object.torch, given.data(), given.size(), nullptr);
    }
    if (object.backend != nullptr) return run_backend(object, args).give();
    if (held.is_single) {
      if (Owned made = run_single(held, args)) return PyTuple_Pack(1, made.get());
    }
    return run_to_tuple(held, args).give();
  });
}

// Note [Graphs that fail]
// An operator that fails on values (a matrix that has no factor, an index out of range) fails when the graph runs: nothing
// of the program's effects is there yet, and a handler of the program's own does not see it. So where the graph has changed
// nothing by then, the function runs from its start as it is, and does what it does eagerly. Tensors from outside that are
// written before something that may fail, and the generator of random numbers, get back what they held: copies are made in
// front of such a graph, up to kMostKept bytes. Calls of Python cannot be taken back. Emitted code calls the graph
// first of all, with the arguments of the function still in its frame: the function runs here, and what it returns leaves
// the frame by an exception of our own, which whoever runs emitted code takes (take_eager_answer).
[[gnu::tls_model("initial-exec")]] constinit thread_local PyObject* eager_answer = nullptr;

PyObject* answer_exception() {
  static PyObject* const type = PyErr_NewException("sconce.compiler.EagerAnswer", PyExc_BaseException, nullptr);
  return type;
}

PyObject* run_emitted(PyObject* self, PyObject* const* args, size_t flags, PyObject* names) {
  const GraphAttempt attempt(self, args);
  PyObject* result = run(self, args, flags, names);
  if (result != nullptr || !attempt.may_run_again() || !clear_failure()) return result;
  Owned answer;
  const bool ran = guarded(
      [&] {
        answer = run_caller_eagerly();
        return true;
      },
      false);
  if (!ran) return nullptr;
  if (!answer) return run(self, args, flags, names);  // no code of ours has called it: fails again
  eager_answer = answer.give();
  PyErr_SetNone(answer_exception());
  return nullptr;
}

void dealloc(PyObject* self) {
  delete compiled(self).held;
  Py_XDECREF(compiled(self).module);
  Py_XDECREF(compiled(self).backend);
  Py_XDECREF(compiled(self).torch);
  PyObject_Free(self);
}

PyObject* graph_text(PyObject* self, void*) {
  return guarded([&] { return text(compiled(self).held->function->graph()->to_string(false)).give(); });
}
// _nodes(): the operators that run, as rows of graph_builder.h.
PyObject* graph_nodes(PyObject* self, PyObject*) {
  return guarded([&] { return graph_rows(*compiled(self).held->function->graph()).give(); });
}
Owned graph_module_of(PyObject* self) {
  CompiledGraphObject& object = compiled(self);
  if (object.module == nullptr) {
    const Owned outputs = Owned::take(PyTuple_New(static_cast<Py_ssize_t>(object.held->outputs.size())));
    for (size_t i = 0; i < object.held->outputs.size(); ++i)
      PyTuple_SET_ITEM(outputs.get(), static_cast<Py_ssize_t>(i), Py_NewRef(object.held->outputs[i].get()));
    const Owned backends = Owned::take(PyImport_ImportModule("sconce.compiler._graphs"));
    object.module = Owned::take(PyObject_CallMethod(backends.get(), "graph_module", "OO",
                                                    object.held->log.entries().get(), outputs.get()))
                        .give();
  }
  return Owned::share(object.module);
}
PyObject* graph_module(PyObject* self, void*) {
  return guarded([&] { return graph_module_of(self).give(); });
}

// _set_plans(on): whether the graph runs by plans.
PyObject* set_plans(PyObject* self, PyObject* on) {
  return guarded([&]() -> PyObject* {
    Held& held = *compiled(self).held;
    held.by_plans = is_true(on) && held.python_calls.empty();
    if (!is_true(on)) held.stages = nullptr;
    held.is_single = held.is_single && held.by_plans;
    held.dense = nullptr;
    held.runs = 0;
    Py_RETURN_NONE;
  });
}

// _run(*tensors): over tensors of sconce, in programs over PyTorch's, too.
PyObject* run_itself(PyObject* self, PyObject* const* args, Py_ssize_t n) {
  return guarded([&] {
    Held& held = *compiled(self).held;
    SCONCE_CHECK_AS(type, static_cast<size_t>(n) == held.inputs, "a compiled graph takes {} inputs, not {} arguments",
                    held.inputs, n);
    return (compiled(self).backend ? run_backend(compiled(self), args) : run_to_tuple(held, args)).give();
  });
}

PyMethodDef methods[] = {
    {"_run", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(run_itself)), METH_FASTCALL, nullptr},
    {"_nodes", graph_nodes, METH_NOARGS, nullptr},
    {"_set_plans", set_plans, METH_O, nullptr},
    {}};
// "__compiled_fn_3": how logs, and code that calls it, name the graph.
PyObject* graph_name(PyObject* self, void*) { return PyUnicode_FromFormat("__compiled_fn_%d", compiled(self).number); }
PyObject* describe(PyObject* self) { return PyUnicode_FromFormat("<graph __compiled_fn_%d>", compiled(self).number); }

PyGetSetDef properties[] = {
    {"__name__", graph_name, nullptr, "__compiled_fn_N", nullptr},
    {"graph", graph_text, nullptr, "The operators that run, as text.", nullptr},
    {"graph_module", graph_module, nullptr, "The calls that the program made, as an fx.GraphModule.", nullptr},
    {}};

PyTypeObject make_type() {
  PyTypeObject type = {PyVarObject_HEAD_INIT(nullptr, 0)};
  type.tp_name = "sconce.CompiledGraph";
  type.tp_basicsize = sizeof(CompiledGraphObject);
  type.tp_vectorcall_offset = offsetof(CompiledGraphObject, vectorcall);
  type.tp_call = PyVectorcall_Call;
  type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION;
  type.tp_dealloc = dealloc;
  type.tp_getset = properties;
  type.tp_repr = describe;
  type.tp_methods = methods;
  return type;
}
PyTypeObject compiled_graph_type = make_type();

// Does the graph draw random numbers?
bool draws(ir::Graph& graph) {
  for (const ir::Node* node : graph.nodes())
    if (node->op() != nullptr && node->op()->has(Trait::random)) return true;
  return false;
}

ir::Function& define(ir::CompilationUnit& unit, std::shared_ptr<ir::Graph> graph) {
  ir::Function& f = unit.add_function("compiled_graph");
  Schema schema;
  schema.name = "compiled_graph";
  for (size_t i = 0; i < graph->inputs().size(); ++i) {
    Argument a;
    a.name = "input_" + std::to_string(i);
    a.type = graph->inputs()[i]->type();
    schema.arguments.push_back(std::move(a));
  }
  Argument result;
  result.type = graph->outputs().at(0)->type();
  schema.returns.push_back(std::move(result));
  f.set_schema(std::move(schema));
  f.set_graph(std::move(graph));
  return f;
}

}  // namespace

// Nodes of which nobody uses a result, but which eagerly fail, or draw random numbers: passes would leave them out, so
// that they become results of the graph behind those that are given on.
static void keep_unused(ir::Graph& graph) {
  std::unordered_set<const ir::Node*> live;
  std::vector<const ir::Node*> open;
  const auto need = [&](const ir::Node* n) {
    if (n != nullptr && live.insert(n).second) open.push_back(n);
  };
  std::vector<const ir::Node*> candidates;
  ir::Node* result = graph.outputs().at(0)->node();
  need(result);
  for (const ir::Node* n : graph.nodes()) {
    if (draws_inside(*n) || may_fail(*n))
      candidates.push_back(n);
    else if (ir::may_write(*n) || ir::has_side_effects(*n))
      need(n);
  }
  const auto follow = [&] {
    while (!open.empty()) {
      const ir::Node* n = open.back();
      open.pop_back();
      for (const ir::Value* v : n->inputs()) need(v->node());
    }
  };
  follow();
  std::vector<ir::Value*> unused;
  for (size_t i = candidates.size(); i-- > 0;) {  // those of the end keep what they are made of
    if (live.contains(candidates[i])) continue;
    for (ir::Value* v : candidates[i]->outputs()) {
      if (!v->type()->is(TypeKind::tensor)) continue;
      unused.push_back(v);
      break;
    }
    need(candidates[i]);
    follow();
  }
  if (unused.empty() || !result->is(ir::kind::TupleConstruct)) return;
  std::vector<TypePtr> types;
  for (ir::Value* v : unused) result->add_input(v);
  for (const ir::Value* v : result->inputs())
    types.push_back(v->type()->is(TypeKind::tensor) ? sconce::tensor_type() : v->type());
  result->output()->set_type(tuple_type(std::move(types)));
}

Owned make_compiled_graph(GraphParts parts) {
  auto held = std::make_unique<Held>();
  held->tensors = std::move(parts.held);
  held->inputs = parts.graph->inputs().size() - held->tensors.size();
  held->tape = CallTape::make(*parts.graph);  // calls whatever is there
  held->python_calls = std::move(parts.python_calls);
  if (!held->python_calls.empty() && !parts.in_modes) held->stages = Stages::make(*parts.graph);
  keep_unused(*parts.graph);
  held->function = &define(held->unit, std::move(parts.graph));
  held->log = std::move(parts.log);
  for (PyObject* output : parts.outputs) held->outputs.push_back(Owned::share(output));
  // None: a result of a part of a graph, of which nothing is known.
  held->has_histories = std::count_if(parts.outputs.begin(), parts.outputs.end(), [](PyObject* o) {
                          return o == Py_None || (is_tensor(o) && tensor_of(o).requires_grad());
                        }) > 1;
  held->by_calls = (parts.in_modes || !held->python_calls.empty()) && held->tape;
  held->by_plans = held->python_calls.empty();
  const std::vector<ir::Value*>& inputs = held->function->graph()->inputs();
  held->has_numbers = std::any_of(inputs.begin(), inputs.end(), [](const ir::Value* v) {
    return v->type()->is(TypeKind::int_) || v->type()->is(TypeKind::float_);
  });
  held->is_single = held->tape && held->tape->is_single() && !held->by_calls && !held->has_numbers &&
                    held->tensors.empty() && held->inputs <= kMostOfSingle;
  auto* object = PyObject_New(CompiledGraphObject, &compiled_graph_type);
  Owned made = Owned::take(reinterpret_cast<PyObject*>(object));
  find_undo(*held);
  object->vectorcall = run_emitted;
  object->held = held.release();
  object->module = nullptr;
  object->backend = object->torch = nullptr;
  static int graphs = 0;
  object->number = ++graphs;
  if (parts.torch != nullptr) {
    const char* runner = draws(*object->held->function->graph()) ? "run_drawing" : "run";
    object->torch = Owned::take(PyObject_GetAttrString(parts.torch, runner)).give();
  }
  if (parts.backend == Py_None) return made;
  const Owned backends = Owned::take(PyImport_ImportModule("sconce.compiler._backends"));
  const Owned chosen = Owned::take(
      PyObject_CallMethod(backends.get(), "compile_graph", "OOO", made.get(), parts.backend, parts.options));
  if (chosen.get() != Py_None) object->backend = Py_NewRef(chosen.get());
  return made;
}

PyObject* take_eager_answer(PyObject* result) {
  if (result != nullptr || eager_answer == nullptr) [[likely]]
    return result;
  PyErr_Clear();
  return std::exchange(eager_answer, nullptr);
}

// Made in inference mode: it has no version.
static bool is_of_inference(const Tensor& t) { return (t.impl()->meta & TensorImpl::inference) != 0; }

// Copies in front of a graph cost what its writes cost, for tensors of this size little beside the rest of it.
constexpr size_t kMostKept = 4 << 20;

GraphAttempt::GraphAttempt(PyObject* graph, PyObject* const* inputs)
    : graph_(graph), inputs_(inputs), calls_before_(impure_python_calls()) {
  const Held& held = *compiled(graph).held;
  if (held.undo == Undo::always) [[likely]]
    return;
  before_ = now();
  if (held.undo == Undo::if_restored && compiled(graph).backend == nullptr) keep_written();
}

void GraphAttempt::keep_written() {
  const Held& held = *compiled(graph_).held;
  const auto is_elsewhere = [](PyObject* o) {
    return is_tensor(o) && tensor_of(o).device().type != DeviceType::cpu;  // has a generator of its own
  };
  if (held.draws_early && std::none_of(inputs_, inputs_ + held.inputs, is_elsewhere))
    generator_ = generator_state(default_generator());
  size_t bytes = 0;
  const auto input = [&](size_t i) { return i < held.inputs ? tensor_of(inputs_[i]) : held.tensors[i - held.inputs]; };
  for (const size_t i : held.written) bytes += static_cast<size_t>(input(i).numel()) * input(i).item_size();
  if (bytes > kMostKept) return;
  const NoGrad constant;
  for (const size_t i : held.written) kept_.push_back({input(i), sconce::clone(input(i))});
}

std::vector<GraphAttempt::Look> GraphAttempt::now() const {
  const Held& held = *compiled(graph_).held;
  std::vector<Look> all;
  const auto add = [&](const Tensor& t) {
    all.push_back({is_of_inference(t) ? 0 : t.version(), t.sizes().vec(), t.strides().vec(), t.requires_grad(),
                   autograd::is_leaf(t)});
  };
  for (size_t i = 0; i < held.inputs; ++i)
    if (is_tensor(inputs_[i])) add(tensor_of(inputs_[i]));
  for (const Tensor& t : held.tensors) add(t);
  return all;
}

bool GraphAttempt::may_run_again() const {
  const CompiledGraphObject& object = compiled(graph_);
  const Held& held = *object.held;
  if (calls_before_ != impure_python_calls() || object.backend != nullptr || object.torch != nullptr) return false;
  if (held.undo == Undo::always) return true;
  const std::vector<Look> after = now();
  // Tensors of inference mode have no version: what may have been written counts as written.
  const auto is_blind = [&](size_t i) {
    return is_of_inference(i < held.inputs ? tensor_of(inputs_[i]) : held.tensors[i - held.inputs]);
  };
  bool written = std::any_of(held.written.begin(), held.written.end(), is_blind);
  for (size_t i = 0; i < after.size(); ++i) {
    if (after[i] == before_[i]) continue;
    written = true;
    Look but_for_elements = after[i];
    but_for_elements.version = before_[i].version;
    // Turned, or part of another history by now.
    if (!(but_for_elements == before_[i]) || !after[i].is_leaf) return false;
  }
  if (written && kept_.empty()) return false;
  if (held.draws_early && generator_.empty()) return false;
  const NoGrad constant;
  if (written)
    for (const Kept& k : kept_) sconce::copy_(k.tensor, k.elements);
  if (!generator_.empty()) set_generator_state(default_generator(), generator_);
  return true;
}

bool clear_failure() {
  if (!PyErr_ExceptionMatches(PyExc_Exception) || PyErr_ExceptionMatches(PyExc_MemoryError)) return false;
  PyErr_Clear();
  return true;
}

PyObject* run_quickly(PyObject* graph, PyObject* const* inputs, int64_t output) {
  const CompiledGraphObject& object = compiled(graph);
  if (!object.held->dense || object.backend != nullptr || object.torch != nullptr) return nullptr;
  Tensor made[kDenseOutputs];
  if (!run_dense(*object.held, inputs, made)) return nullptr;
  return wrap(std::move(made[output])).give();
}

void set_outside_inputs(PyObject* graph, std::vector<uint32_t> inputs) {
  Held& held = *compiled(graph).held;
  const auto& types = held.function->graph()->inputs();
  std::erase_if(inputs, [&](uint32_t i) { return !types[i]->type()->is(TypeKind::tensor); });
  for (size_t i = 0; i < held.tensors.size(); ++i) inputs.push_back(static_cast<uint32_t>(held.inputs + i));
  held.freezing.outside = std::move(inputs);
}

bool is_compiled_graph(PyObject* object) { return Py_IS_TYPE(object, &compiled_graph_type); }

size_t graph_outputs(PyObject* graph) { return compiled(graph).held->outputs.size(); }

void run_graph(PyObject* graph, PyObject* const* inputs, std::span<Owned> outputs) {
  const CompiledGraphObject& object = compiled(graph);
  if (object.backend != nullptr || object.torch != nullptr) {
    const Owned made = Owned::take(run(graph, inputs, object.held->inputs, nullptr));
    for (size_t i = 0; i < outputs.size(); ++i)
      outputs[i] = Owned::share(PyTuple_GET_ITEM(made.get(), static_cast<Py_ssize_t>(i)));
    return;
  }
  Held& held = *object.held;
  if (held.dense) {
    Tensor made[kDenseOutputs];
    if (run_dense(held, inputs, made)) {
      for (size_t i = 0; i < outputs.size(); ++i) outputs[i] = wrap(std::move(made[i]));
      return;
    }
  } else {
    make_dense(held, inputs);
  }
  if (object.held->is_single) {
    if (outputs[0] = run_single(*object.held, inputs); outputs[0]) return;
  }
  InlineVector<Value, 4> values(outputs.size());
  run_values(*object.held, inputs, {values.data(), outputs.size()});
  for (size_t i = 0; i < outputs.size(); ++i) outputs[i] = object_of(values.data()[i]);
}

void add_graph_capture(PyObject* module) {
  check(PyType_Ready(&compiled_graph_type));
  add_sym_numbers(module);
  add_graph_doors(module);
}

}  // namespace sconce::python::capture
