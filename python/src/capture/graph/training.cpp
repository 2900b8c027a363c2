// GraphRecorder: gradients that the program computes, reads and writes while it is recorded.
//
// Note [Gradients while recording]
// backward runs twice. While recording it runs on the fakes, unrecorded: they have a history as the program's tensors
// have, and get gradients without memory that say which leaves have one by now, and of what shape. In the graph it is a
// call in its turn (python_call.h), so that what runs is eager's backward on eager's history.
// The fake of a leaf begins without a gradient, and without knowing whether the program's tensor has one
// (grad_is_known):
//   .grad is read         the evaluator reads that of the program's tensor, guarded, and notes it here
//   .grad is set          known from here on
//   backward reaches it   known, and the graph reads it when the program does
//   zero_grad of an optimiser: known to be None, also for tensors that become fakes later
// backward is recorded only where it runs no code of Python and reaches no leaf that is unknown here: not when a tensor
// from outside has a history, or a leaf has hooks (a guard sees new ones: Evaluator), and not through a Function.
#include <algorithm>

#include "capture/frames/frame_hook.h"
#include "capture/graph/compiled_graph.h"
#include "capture/graph/graph_recorder.h"
#include "sconce/autograd/autograd_state.h"
#include "sconce/autograd/variable.h"
#include "sconce/base/error.h"
#include "tensor_object.h"

namespace sconce::python::capture {
namespace {

PyObject* builtin(const char* name) { return PyDict_GetItemString(PyEval_GetBuiltins(), name); }
PyObject* grad_name() {
  static PyObject* const name = PyUnicode_InternFromString("grad");
  return name;
}

// Is there a SymInt or SymFloat among the arguments? What is called would get it instead of a number.
bool has_number(std::span<PyObject* const> args) {
  return std::any_of(args.begin(), args.end(), [](PyObject* o) {
    bool found = false;
    each_leaf(o, [&](PyObject* leaf) { found = found || sym_number(leaf) != nullptr; });
    return found;
  });
}

}  // namespace

bool GraphRecorder::records_gradients(PyObject* fake) const { return !torch_ && known(fake) != nullptr; }

// A call on fakes that leaves no node.
Owned GraphRecorder::run_unrecorded(PyObject* target, std::span<PyObject* const> args, PyObject* names) {
  const size_t named = names ? static_cast<size_t>(PyTuple_GET_SIZE(names)) : 0;
  const tracing::Paused unrecorded;
  const HookPause pause;
  return Owned::take(PyObject_Vectorcall(target, args.data(), args.size() - named, names));
}

// Operators over graphs draw where these do; gradients, read, written or computed, never.
bool GraphRecorder::may_draw(PyObject* callable, std::span<PyObject* const> args) const {
  if (PyCFunction_Check(callable)) {
    const std::string_view name = reinterpret_cast<PyCFunctionObject*>(callable)->m_ml->ml_name;
    return name != "_gradients" && callable != builtin("getattr") && callable != builtin("setattr");
  }
  bool of_graphs = false, drawing = false;
  for (PyObject* arg : args) {
    of_graphs = of_graphs || is_compiled_graph(arg);
    drawing = drawing || draws(arg);
  }
  return drawing || !of_graphs;
}

void GraphRecorder::call_in_turn(PyObject* callable, std::span<PyObject* const> args, PyObject* names,
                                 PyObject* result) {
  if (torch_) throw NotRecordable{"gradients of PyTorch's tensors"};
  if (has_number(args)) throw NotRecordable{"a number that changes, in a call that the graph makes through Python"};
  const bool drawing = may_draw(callable, args);
  const auto call =
      std::make_shared<PythonCall>(callable, args, names, result, [&](PyObject* o) { return known(o) != nullptr; });
  call->is_pure = !drawing && std::any_of(args.begin(), args.end(), is_compiled_graph);
  match_modes();
  std::vector<ir::Value*> inputs;
  for (PyObject* fake : call->inputs()) inputs.push_back(known(fake)->value);
  ir::Value* list = list_of(sconce::tensor_type(), inputs);
  auto number = std::make_unique<PythonCallNumber>(call);
  ir::Node* node = graph_->insert(graph_->create(call_python_op(), {constant(Value(number->value())), list}));
  ++nodes_;
  if (drawing) drawing_calls_.insert(number->value());
  if (!call->outputs().empty()) {
    ir::Node* unpack = graph_->insert(graph_->create(ir::kind::ListUnpack, {node->output()}, call->outputs().size()));
    for (size_t i = 0; i < call->outputs().size(); ++i) {
      unpack->output(i)->set_type(sconce::tensor_type());
      known_[tensor_of(call->outputs()[i]).impl()].value = unpack->output(i);
    }
  }
  python_calls_.push_back(std::move(number));
  log_.add_call(callable, args, names, result);
}

// Tensor.backward, torch.autograd.backward and grad.
Owned GraphRecorder::differentiate(PyObject* target, std::span<PyObject* const> args, PyObject* names) {
  if (torch_) throw NotRecordable{"gradients of PyTorch's tensors"};
  const bool returns = PyCFunction_Check(target) &&
                       std::string_view(reinterpret_cast<PyCFunctionObject*>(target)->m_ml->ml_name) == "_gradients";
  if (has_hooks_) throw NotRecordable{"gradients of a tensor with hooks"};
  if (has_opaque_) throw NotRecordable{"gradients through a Function with a backward of its own"};
  for (const auto& [impl, k] : known_) {
    if (!k.original || !k.kept.requires_grad()) continue;
    if (!k.is_leaf) throw NotRecordable{"gradients of a tensor that was made outside of the graph"};
    const autograd::AutogradState* state = autograd::state_of(tensor_of(k.original.get()));
    if (state != nullptr && state->hooks) throw NotRecordable{"gradients of a tensor with hooks"};
  }
  Owned result;
  try {
    result = run_unrecorded(target, args, names);
  } catch (const PythonError&) {
    if (std::optional<NotRecordable> why = explain_failure()) throw *why;
    throw;
  }
  if (returns) {
    const Owned inputs = Owned::take(PySequence_List(args[1]));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(result.get()); ++i) {
      PyObject* grad = PyTuple_GET_ITEM(result.get(), i);
      if (!is_tensor(grad)) continue;
      const Known* of = known(PyList_GET_ITEM(inputs.get(), i));
      if (of == nullptr) throw NotRecordable{"the gradient of a tensor that the graph does not know"};
      if (depends(Value(of->kept))) symbols_.fix_all();
      const Device device = of->device;
      if (known(grad) == nullptr) set_result(Value(tensor_of(grad)), nullptr, device, {});
    }
    call_in_turn(target, args, names, result.get());
    return result;
  }
  for (auto& [impl, k] : known_) {
    if (!k.kept.requires_grad()) continue;
    const bool reached = autograd::grad(k.kept).defined();
    if (!reached) continue;
    if (depends(Value(k.kept))) symbols_.fix_all();
    k.grad_is_known = true;
  }
  call_in_turn(target, args, names, Py_None);
  return result;
}

std::optional<Owned> GraphRecorder::gradient(PyObject* fake) {
  const Known* of = known(fake);
  SCONCE_ASSERT(of);
  // Made by the graph: it had none in the beginning.
  const bool made_here = !of->original;
  if (made_here && !autograd::is_leaf(of->kept)) throw NotRecordable{"the gradient of a tensor that is no leaf"};
  if (!of->grad_is_known && !made_here) return std::nullopt;
  const Tensor grad = autograd::grad(of->kept);
  if (!grad.defined()) return Owned::share(Py_None);
  Owned made = wrap(grad);
  if (known(made.get()) != nullptr) return made;
  set_result(Value(grad), nullptr, of->device, {});
  PyObject* const args[] = {fake, grad_name()};
  call_in_turn(builtin("getattr"), args, nullptr, made.get());
  return made;
}

void GraphRecorder::note_gradient(PyObject* fake, PyObject* grad) {
  const Known* of = known(fake);
  if (of == nullptr || !records_gradients(fake) || (grad != Py_None && known(grad) == nullptr)) return;
  const tracing::Paused unrecorded;
  autograd::set_grad(of->kept, grad == Py_None ? Tensor() : tensor_of(grad));
  known_[of->kept.impl()].grad_is_known = true;
}

void GraphRecorder::set_gradient(PyObject* fake, PyObject* value) {
  const Known* of = known(fake);
  SCONCE_ASSERT(of);
  if (value != Py_None && known(value) == nullptr) throw NotRecordable{"a gradient that is no tensor of the graph"};
  {
    const tracing::Paused unrecorded;
    check(PyObject_SetAttr(fake, grad_name(), value));  // shapes that do not fit raise here
  }
  known_[of->kept.impl()].grad_is_known = true;
  PyObject* const args[] = {fake, grad_name(), value};
  call_in_turn(builtin("setattr"), args, nullptr, Py_None);
}

void GraphRecorder::clear_gradients(PyObject* tensors) {
  const Owned all = Owned::take(PySequence_List(tensors));
  const tracing::Paused unrecorded;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(all.get()); ++i) {
    PyObject* tensor = PyList_GET_ITEM(all.get(), i);
    if (!is_tensor(tensor)) continue;
    const auto found = fakes_.find(tensor);
    if (found == fakes_.end()) {
      cleared_.push_back(tensor_of(tensor));
      continue;
    }
    Known& k = known_[tensor_of(found->second).impl()];
    autograd::set_grad(k.kept, {});
    k.grad_is_known = true;
  }
}

// A gradient may be written by any call in turn that follows.
uint64_t GraphRecorder::stamp(PyObject* fake) const {
  const Known* of = known(fake);
  if (of == nullptr) return 0;
  const ir::Node* node = of->value == nullptr ? nullptr : of->value->node();
  const bool of_call = node != nullptr && node->is(ir::kind::ListUnpack) && node->inputs().at(0)->node() != nullptr &&
                       node->inputs().at(0)->node()->op() == &call_python_op();
  return (static_cast<uint64_t>(of->kept.version()) << 32) + (of_call ? python_calls_.size() : 0);
}

void GraphRecorder::note_written(PyObject* tensors) {
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(tensors); ++i) {
    const auto found = fakes_.find(PyList_GET_ITEM(tensors, i));
    if (found != fakes_.end()) tensor_of(found->second).bump_version();
  }
}

Owned GraphRecorder::call_opaque(PyObject* callable, PyObject* on_fakes, std::span<PyObject* const> args) {
  if (torch_) throw NotRecordable{"a Function over PyTorch's tensors"};
  Owned result;
  try {
    result = run_unrecorded(on_fakes, args, nullptr);
  } catch (const PythonError&) {
    if (std::optional<NotRecordable> why = explain_failure()) throw *why;
    throw;
  }
  const auto adopt_result = [&](PyObject* o) {
    if (is_tensor(o) && known(o) == nullptr) set_result(Value(tensor_of(o)), nullptr, home_, {});
  };
  if (PyTuple_CheckExact(result.get())) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(result.get()); ++i) adopt_result(PyTuple_GET_ITEM(result.get(), i));
  } else {
    adopt_result(result.get());
  }
  call_in_turn(callable, args, nullptr, result.get());
  for (PyObject* arg : args)  // the results look as they do for these sizes
    each_leaf(arg, [&](PyObject* o) {
      if (known(o) && depends(Value(tensor_of(o)))) symbols_.fix_all();
    });
  has_opaque_ = true;
  return result;
}

}  // namespace sconce::python::capture
