#include "tensor_object.h"

#include <structmember.h>

#include <array>

#include "binder.h"
#include "capture/evaluator/evaluator.h"
#include "programs/tracing.h"
#include "quick_call.h"
#include "sconce/base/error.h"
#include "sconce/sconce.hpp"
#include "sconce/tensor/python_owner.h"

namespace sconce::python {
namespace {

TensorObject* object_of(const TensorImpl& impl) {
  return reinterpret_cast<TensorObject*>(reinterpret_cast<uintptr_t>(impl.python) & ~kOwnsPython);
}
bool owns_object(const TensorImpl& impl) { return reinterpret_cast<uintptr_t>(impl.python) & kOwnsPython; }

// The object owns the tensor again, and goes with it unless others hold it: those that got it by a weak reference, by
// gc.get_objects(), or as `self` of its __del__.
bool release_object(TensorImpl* impl) noexcept {
  if (!Py_IsInitialized()) return false;
  const PyGILState_STATE state = PyGILState_Ensure();
  if (owns_object(*impl)) {
    TensorObject* object = object_of(*impl);
    impl->python = object;
    object->impl = impl;
    Py_DECREF(reinterpret_cast<PyObject*>(object));
  } else {  // wrap() gave the object out while this thread waited for the lock
    release(impl);
  }
  PyGILState_Release(state);
  return true;
}

bool has_state(const TensorObject& object) {
  return (object.dict != nullptr && PyDict_GET_SIZE(object.dict) != 0) || object.weak_references != nullptr ||
         !Py_IS_TYPE(&object, &tensor_type);
}

// True when the object lives on, owned by its tensor.
bool change_sides(PyObject* self) {
  auto& object = *reinterpret_cast<TensorObject*>(self);
  if (object.impl == nullptr || object.impl->count.unique() || !has_state(object)) return false;
  Py_SET_REFCNT(self, 1);
  object.impl->python = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(self) | kOwnsPython);
  // The last owner may have let go meanwhile: then this gives the tensor back to the object, which goes with it.
  release(object.impl);
  return true;
}

// Objects that nobody uses, for the next tensors.
constexpr size_t kKept = 64;
std::array<TensorObject*, kKept> free_objects;
size_t free_count = 0;

void destroy(PyObject* self) {
  auto& object = *reinterpret_cast<TensorObject*>(self);
  PyTypeObject* type = Py_TYPE(self);
  if (type != &tensor_type || object.dict != nullptr || object.weak_references != nullptr) [[unlikely]] {
    PyObject_GC_UnTrack(self);
    if (object.weak_references != nullptr) PyObject_ClearWeakRefs(self);
    Py_CLEAR(object.dict);
  }
  if (object.impl != nullptr) {
    object.impl->python = nullptr;
    release(object.impl);
  }
  if (type == &tensor_type && free_count < kKept)
    free_objects[free_count++] = &object;
  else
    type->tp_free(self);
}

void dealloc(PyObject* self) {
  auto& object = *reinterpret_cast<TensorObject*>(self);
  if ((object.dict != nullptr || object.weak_references != nullptr) && change_sides(self)) return;
  destroy(self);
}

// Calls visit for each attribute in a slot (`__slots__`) of the classes of Python between an object's and Tensor.
template <class F>
void for_each_slot(PyObject* self, F&& visit) {
  for (PyTypeObject* type = Py_TYPE(self); type->tp_flags & Py_TPFLAGS_HEAPTYPE; type = type->tp_base) {
    const PyMemberDef* member = type->tp_members;
    for (Py_ssize_t i = 0; i < Py_SIZE(type); ++i, ++member) {
      if (member->type == T_OBJECT_EX && !(member->flags & READONLY))
        visit(reinterpret_cast<PyObject**>(reinterpret_cast<char*>(self) + member->offset));
    }
  }
}

// tp_dealloc of subclasses. CPython's own would finalise the object and clear its slots before dealloc() is asked, and so
// before it is known whether the object lives on.
void subclass_dealloc(PyObject* self) {
  if (change_sides(self)) return;
  PyTypeObject* type = Py_TYPE(self);
  if (type->tp_finalize != nullptr || type->tp_del != nullptr) {
    if (type->tp_finalize != nullptr && PyObject_CallFinalizerFromDealloc(self) < 0) return;  // somebody has it again
    if (type->tp_del != nullptr) {
      type->tp_del(self);
      if (Py_REFCNT(self) > 0) return;
    }
    if (change_sides(self)) return;  // the finaliser gave the tensor to C++
  }
  PyObject_GC_UnTrack(self);
  for_each_slot(self, [](PyObject** slot) { Py_CLEAR(*slot); });
  type = Py_TYPE(self);
  destroy(self);
  Py_DECREF(type);
}

// What a tensor that C++ owns, too, refers to can be reached by C++: to the collector it looks referred to from outside.
int traverse(PyObject* self, visitproc visit, void* arg) {
  const auto& object = *reinterpret_cast<TensorObject*>(self);
  if (object.impl != nullptr && !object.impl->count.unique()) return 0;
  Py_VISIT(object.dict);
  return 0;
}
int subclass_traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  const auto& object = *reinterpret_cast<TensorObject*>(self);
  if (object.impl != nullptr && !object.impl->count.unique()) return 0;
  int status = 0;
  for_each_slot(self, [&](PyObject** slot) {
    if (status == 0 && *slot != nullptr) status = visit(*slot, arg);
  });
  if (status != 0) return status;
  Py_VISIT(object.dict);
  return 0;
}
// The dict stays, empty: it is the sign that the collector may know the object (dealloc).
int clear(PyObject* self) {
  if (PyObject* dict = reinterpret_cast<TensorObject*>(self)->dict) PyDict_Clear(dict);
  return 0;
}

// Gives a class of Python its functions. Objects change from class to class only if both have the same.
void prepare_subclass(PyTypeObject* type) {
  type->tp_dealloc = subclass_dealloc;
  type->tp_traverse = subclass_traverse;
}

// Only an object with attributes can be part of a cycle, so only then the collector has to know it.
int set_attribute(PyObject* self, PyObject* name, PyObject* value) {
  if (value != nullptr && PyType_Check(value) && PyUnicode_CompareWithASCIIString(name, "__class__") == 0)
      [[unlikely]] {
    auto* type = reinterpret_cast<PyTypeObject*>(value);
    if (type != &tensor_type && PyType_IsSubtype(type, &tensor_type)) prepare_subclass(type);
  }
  const int status = PyObject_GenericSetAttr(self, name, value);
  if (status == 0 && reinterpret_cast<TensorObject*>(self)->dict != nullptr && !PyObject_GC_IsTracked(self))
    PyObject_GC_Track(self);
  return status;
}

PyObject* repr(PyObject* self) {
  return guarded([&] {
    // While a function is captured: code of C that makes a text of a container asks for elements that are not there yet.
    if (tensor_of(self).is_meta()) {
      const capture::Evaluator* evaluator = capture::Evaluator::current();
      SCONCE_CHECK(evaluator == nullptr || !evaluator->recorder.is_fake(self),
                   "the text of a tensor that is captured, and lies on device meta in the meantime");
    }
    return text(tensor_of(self).to_string()).give();
  });
}
Py_hash_t hash(PyObject* self) { return static_cast<Py_hash_t>(reinterpret_cast<uintptr_t>(self) >> 4); }

// Tensor(other): the same tensor under another class, as subclasses make their objects. Other arguments are sizes or data.
PyObject* make(PyTypeObject* type, PyObject* args, PyObject* names) {
  return guarded([&]() -> PyObject* {
    Owned from = PyTuple_GET_SIZE(args) == 1 ? Owned::share(PyTuple_GET_ITEM(args, 0)) : Owned();
    if (!from || !is_tensor(from.get()) || names != nullptr) {
      const Owned module = Owned::take(PyImport_ImportModule("sconce._legacy"));
      const Owned made = Owned::take(PyObject_GetAttrString(module.get(), "make_tensor"));
      from = Owned::take(PyObject_Call(made.get(), args, names));
    }
    return wrap_as(type, shallow_copy(tensor_of(from.get()))).give();
  });
}

PyObject* iterate(PyObject* self) {
  return guarded([&]() -> PyObject* {
    SCONCE_CHECK_AS(type, tensor_of(self).dim() > 0, "iteration over a 0-d tensor");
    if (!is_plain_tensor(self)) {  // its class may have a say
      const Owned parts = Owned::take(PyObject_CallMethod(self, "unbind", "i", 0));
      return PyObject_GetIter(parts.get());
    }
    warn_when_tracing(
        "Iterating over a tensor might cause the trace to be incorrect. Passing a tensor of different shape won't "
        "change "
        "the number of iterations executed (and might lead to errors or silently give incorrect results).");
    std::vector<Tensor> parts = unbind(tensor_of(self), 0);
    const Owned list = Owned::take(PyTuple_New(static_cast<Py_ssize_t>(parts.size())));
    for (size_t i = 0; i < parts.size(); ++i)
      PyTuple_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), wrap(std::move(parts[i])).give());
    return PyObject_GetIter(list.get());
  });
}

PyTypeObject make_type() {
  PyTypeObject type = {PyVarObject_HEAD_INIT(nullptr, 0)};
  type.tp_name = "sconce.Tensor";
  type.tp_doc = "An n-dimensional array, as torch.Tensor.";
  type.tp_basicsize = sizeof(TensorObject);
  type.tp_dictoffset = offsetof(TensorObject, dict);
  type.tp_weaklistoffset = offsetof(TensorObject, weak_references);
  type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC;
  type.tp_dealloc = dealloc;
  type.tp_traverse = traverse;
  type.tp_clear = clear;
  type.tp_free = PyObject_GC_Del;
  type.tp_repr = repr;
  type.tp_hash = hash;
  type.tp_getattro = PyObject_GenericGetAttr;
  type.tp_setattro = set_attribute;
  type.tp_richcompare = compare_tensors;
  type.tp_iter = iterate;
  type.tp_new = make;
  type.tp_as_number = &tensor_numbers;
  type.tp_as_sequence = &tensor_sequence;
  type.tp_as_mapping = &tensor_mapping;
  type.tp_as_buffer = &tensor_buffer;
  type.tp_getset = tensor_properties;
  type.tp_methods = tensor_methods;
  return type;
}

}  // namespace

PyTypeObject tensor_type = make_type();

Owned wrap(Tensor tensor) {
  if (!tensor.defined()) return Owned::share(Py_None);
  TensorImpl& impl = *tensor.impl();
  if (impl.python == nullptr) return wrap_as(&tensor_type, std::move(tensor));
  TensorObject* object = object_of(impl);
  if (!owns_object(impl)) return Owned::share(reinterpret_cast<PyObject*>(object));
  impl.python = object;  // the object owns the tensor again
  object->impl = tensor.leak();
  return Owned::take(reinterpret_cast<PyObject*>(object));
}

Owned wrap_as(PyTypeObject* type, Tensor tensor) {
  SCONCE_CHECK(tensor.impl()->python == nullptr, "the tensor has an object in Python already");
  TensorObject* object = nullptr;
  if (type == &tensor_type && free_count != 0) {
    object = free_objects[--free_count];
    _Py_NewReference(reinterpret_cast<PyObject*>(object));
  } else if (type == &tensor_type) {
    object = PyObject_GC_New(TensorObject, type);
  } else {
    if (type->tp_dealloc != subclass_dealloc) [[unlikely]]
      prepare_subclass(type);  // for its first object
    object = reinterpret_cast<TensorObject*>(type->tp_alloc(type, 0));
  }
  Owned made = Owned::take(reinterpret_cast<PyObject*>(object));
  object->dict = nullptr;
  object->weak_references = nullptr;
  object->impl = tensor.leak();
  object->impl->python = object;
  return made;
}

void add_tensor_type(PyObject* module) {
  set_python_release(release_object);
  check(PyModule_AddType(module, &tensor_type));
  add_methods(tensor_type.tp_dict);
  PyType_Modified(&tensor_type);
}

}  // namespace sconce::python
