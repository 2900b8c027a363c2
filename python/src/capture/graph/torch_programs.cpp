// GraphRecorder for programs over PyTorch's tensors: sconce/compiler/_torch.py knows what of theirs is what of ours.
#include "capture/graph/graph_recorder.h"
#include "capture/guards/tensor_fact.h"
#include "sconce/base/error.h"
#include "tensor_object.h"

namespace sconce::python::capture {

void GraphRecorder::load_torch() const {
  if (torch_) return;
  const tracing::Paused unrecorded;
  torch_ = Owned::take(PyImport_ImportModule("sconce.compiler._torch"));
}

Tensor GraphRecorder::borrow(PyObject* tensor, Look& look) {
  if (!is_torch_tensor(tensor)) throw NotRecordable{"a " + std::string(class_name(tensor)) + " is no tensor of sconce"};
  const tracing::Paused unrecorded;
  load_torch();
  PyObject* made = PyObject_CallMethod(torch_.get(), "borrow", "(O)", tensor);
  if (made == nullptr) {
    PyErr_Clear();
    throw NotRecordable{"a tensor of PyTorch that cannot be shared: another device, layout or class"};
  }
  const Owned owner = Owned::take(made);
  const Owned leaf = Owned::take(PyObject_GetAttrString(tensor, "is_leaf"));
  const Owned grad = Owned::take(PyObject_GetAttrString(tensor, "requires_grad"));
  look = {is_true(leaf.get()), is_true(grad.get())};
  return tensor_of(made);
}

// What stands for a callable of PyTorch; null for others. Borrowed.
PyObject* GraphRecorder::torch_target(PyObject* target) const {
  load_torch();
  const auto [at, fresh] = torch_targets_.try_emplace(target);
  if (fresh) {
    at->second = Owned::take(PyObject_CallMethod(torch_.get(), "target_of", "(O)", target));
    Py_INCREF(target);  // so that its address stays its own; functions of C live on anyway
  }
  return at->second.get() == Py_None ? nullptr : at->second.get();
}

Owned GraphRecorder::torch_call(PyObject* target, std::span<PyObject* const> args, PyObject* names) {
  std::vector<Owned> held;
  std::vector<PyObject*> given;
  for (PyObject* o : args)
    given.push_back(held.emplace_back(Owned::take(PyObject_CallMethod(torch_.get(), "argument", "(O)", o))).get());
  if (PyFunction_Check(target) || !is_operator(target)) {  // asks for the state of the thread
    const size_t named = names ? static_cast<size_t>(PyTuple_GET_SIZE(names)) : 0;
    return Owned::take(PyObject_Vectorcall(target, given.data(), given.size() - named, names));
  }
  return call_ours(target, given, names);
}

Owned GraphRecorder::torch_answer(Owned value) const {
  return Owned::take(PyObject_CallMethod(torch_.get(), "answer", "(O)", value.get()));
}

}  // namespace sconce::python::capture
