#include "capture/frames/tail_call.h"

#include <utility>

#include "capture/bytecode/decompile.h"

namespace sconce::python::capture {
namespace {

struct Pending {
  PyObject_VAR_HEAD PyObject* items[1];  // the function, then its arguments
};
Pending& of(PyObject* self) { return *reinterpret_cast<Pending*>(self); }

int traverse(PyObject* self, visitproc visit, void* arg) {
  for (Py_ssize_t i = 0; i < Py_SIZE(self); ++i) Py_VISIT(of(self).items[i]);
  return 0;
}
int clear(PyObject* self) {
  for (Py_ssize_t i = 0; i < Py_SIZE(self); ++i) Py_CLEAR(of(self).items[i]);
  return 0;
}
void dealloc(PyObject* self) {
  PyObject_GC_UnTrack(self);
  clear(self);
  PyObject_GC_Del(self);
}

PyTypeObject make_type() {
  PyTypeObject type = {PyVarObject_HEAD_INIT(nullptr, 0)};
  type.tp_name = "sconce.compiler.PendingCall";
  type.tp_basicsize = offsetof(Pending, items);
  type.tp_itemsize = sizeof(PyObject*);
  type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION;
  type.tp_dealloc = dealloc;
  type.tp_traverse = traverse;
  type.tp_clear = clear;
  return type;
}
PyTypeObject pending_type = make_type();

PyObject* tail_call(PyObject*, PyObject* const* args, Py_ssize_t count) {
  auto* made = PyObject_GC_NewVar(Pending, &pending_type, count);
  if (made == nullptr) return nullptr;
  for (Py_ssize_t i = 0; i < count; ++i) made->items[i] = Py_NewRef(args[i]);
  PyObject_GC_Track(made);
  return reinterpret_cast<PyObject*>(made);
}
PyMethodDef method = {"_tail_call", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(tail_call)),
                      METH_FASTCALL, nullptr};
PyObject* function = nullptr;

struct Awaited {
  PyCodeObject* code = nullptr;
  Handed* handed = nullptr;
};
// The frame that the next call enters; and what finish_calls offers to what it calls.
[[gnu::tls_model("initial-exec")]] constinit thread_local Awaited awaited;
[[gnu::tls_model("initial-exec")]] constinit thread_local Handed* offered = nullptr;

}  // namespace

PyObject* tail_call_function() { return function; }
bool is_pending(PyObject* result) { return result != nullptr && Py_IS_TYPE(result, &pending_type); }

Handed* take_handed() { return std::exchange(offered, nullptr); }

PyObject* call_handing(PyObject* callee, PyObject* const* args, size_t flags, PyObject* names, Handed* handed) {
  if (handed == nullptr) return PyObject_Vectorcall(callee, args, flags, names);
  const Awaited before = std::exchange(awaited, {reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(callee)), handed});
  PyObject* result = PyObject_Vectorcall(callee, args, flags, names);
  awaited = before;
  return result;
}

bool frame_entered(PyCodeObject* code) {
  if (awaited.code != code) [[likely]]
    return false;
  std::exchange(awaited, {}).handed->clear();
  return true;
}

PyObject* finish_calls(PyObject* result) {
  while (is_pending(result)) {
    Handed values;
    values.reserve(static_cast<size_t>(Py_SIZE(result)));
    Owned callee = Owned::take(std::exchange(of(result).items[0], nullptr));
    for (Py_ssize_t i = 1; i < Py_SIZE(result); ++i)
      values.push_back(Owned::take(std::exchange(of(result).items[i], nullptr)));
    Py_DECREF(result);
    std::vector<PyObject*> args;
    for (const Owned& value : values) args.push_back(value.get());
    if (PyFunction_Check(callee.get())) {
      result = call_handing(callee.get(), args.data(), args.size(), nullptr, &values);
    } else {
      offered = &values;
      result = PyObject_Vectorcall(callee.get(), args.data(), args.size(), nullptr);
      offered = nullptr;
    }
  }
  return result;
}

void add_tail_calls() {
  check(PyType_Ready(&pending_type));
  function = Owned::take(PyCFunction_New(&method, nullptr)).give();
  show_as_call_of_argument(function);  // the text reads as if the resume function were called
}

}  // namespace sconce::python::capture
