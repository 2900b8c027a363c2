#include "size_object.h"

#include <array>

#include "sconce/base/error.h"

namespace sconce::python {
namespace {

extern PyTypeObject size_type;

// Objects of up to kDims dimensions that nobody uses, for the next ones.
constexpr size_t kDims = 6, kKept = 16;
struct FreeList {
  std::array<PyObject*, kKept> objects;
  size_t count = 0;
};
std::array<FreeList, kDims> free_lists;

// All items are null; not known to the collector, since numbers are in no cycles.
Owned make_empty(size_t n) {
  if (n < kDims && free_lists[n].count != 0) {
    PyObject* object = free_lists[n].objects[--free_lists[n].count];
    _Py_NewReference(object);
    return Owned::take(object);
  }
  Owned made = Owned::take(size_type.tp_alloc(&size_type, static_cast<Py_ssize_t>(n)));
  PyObject_GC_UnTrack(made.get());
  return made;
}

void dealloc(PyObject* self) {
  PyObject_GC_UnTrack(self);
  const auto n = static_cast<size_t>(PyTuple_GET_SIZE(self));
  for (size_t i = 0; i < n; ++i) {
    Py_XDECREF(PyTuple_GET_ITEM(self, static_cast<Py_ssize_t>(i)));
    PyTuple_SET_ITEM(self, static_cast<Py_ssize_t>(i), nullptr);
  }
  if (n < kDims && free_lists[n].count < kKept)
    free_lists[n].objects[free_lists[n].count++] = self;
  else
    PyObject_GC_Del(self);
}

Owned size_of_items(PyObject* tuple) {
  const Py_ssize_t n = PyTuple_GET_SIZE(tuple);
  Owned made = make_empty(static_cast<size_t>(n));
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* item = PyTuple_GET_ITEM(tuple, i);
    if (!PyLong_Check(item)) {
      if (!PyIndex_Check(item)) {
        PyErr_Format(PyExc_TypeError, "torch.Size() takes an iterable of 'int' (item %zd is '%s')", i,
                     Py_TYPE(item)->tp_name);
        throw PythonError();
      }
      PyTuple_SET_ITEM(made.get(), i, Owned::take(PyNumber_Index(item)).give());
    } else {
      PyTuple_SET_ITEM(made.get(), i, Py_NewRef(item));
    }
  }
  return made;
}

PyObject* make(PyTypeObject*, PyObject* args, PyObject* kwargs) {
  return guarded([&] {
    SCONCE_CHECK_AS(type, kwargs == nullptr || PyDict_GET_SIZE(kwargs) == 0, "Size() takes no keyword arguments");
    PyObject* items = nullptr;
    if (!PyArg_ParseTuple(args, "|O:Size", &items)) throw PythonError();
    const Owned tuple = Owned::take(items ? PySequence_Tuple(items) : PyTuple_New(0));
    return size_of_items(tuple.get()).give();
  });
}
// The tuple that a function of tuples gives, as a Size; anything else as it is.
PyObject* as_size(PyObject* result) {
  if (result == nullptr || !PyTuple_CheckExact(result)) return result;
  const Owned tuple = Owned::take(result);
  return guarded([&] {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(result); ++i) {
      if (!PyLong_Check(PyTuple_GET_ITEM(result, i))) return Py_NewRef(result);
    }
    return size_of_items(result).give();
  });
}
PyObject* concat(PyObject* a, PyObject* b) { return as_size(PyTuple_Type.tp_as_sequence->sq_concat(a, b)); }
PyObject* repeat(PyObject* a, Py_ssize_t n) { return as_size(PyTuple_Type.tp_as_sequence->sq_repeat(a, n)); }
PyObject* subscript(PyObject* self, PyObject* key) {
  return as_size(PyTuple_Type.tp_as_mapping->mp_subscript(self, key));
}

PyObject* repr(PyObject* self) {
  return guarded([&] {
    const Owned list = Owned::take(PySequence_List(self));
    return PyUnicode_FromFormat("torch.Size(%R)", list.get());
  });
}
PyObject* numel(PyObject* self, PyObject*) {
  return guarded([&] {
    Owned product = Owned::take(PyLong_FromLong(1));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(self); ++i)
      product = Owned::take(PyNumber_Multiply(product.get(), PyTuple_GET_ITEM(self, i)));
    return product.give();
  });
}
PyObject* reduce(PyObject* self, PyObject*) {
  return guarded([&] {
    const Owned tuple = Owned::take(PyTuple_GetSlice(self, 0, PyTuple_GET_SIZE(self)));
    // PyTuple_GetSlice gives the object itself for all of it, when it is a plain tuple only.
    return Py_BuildValue("O(N)", reinterpret_cast<PyObject*>(&size_type), PySequence_List(tuple.get()));
  });
}

PySequenceMethods sequence = {};
PyMappingMethods mapping = {};
PyMethodDef methods[] = {{"numel", numel, METH_NOARGS, "The number of elements of a tensor of these sizes."},
                         {"__reduce__", reduce, METH_NOARGS, nullptr},
                         {}};

PyTypeObject make_type() {
  PyTypeObject type = {PyVarObject_HEAD_INIT(nullptr, 0)};
  type.tp_name = "sconce.Size";
  type.tp_doc = "The sizes of a tensor.";
  type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC;
  type.tp_base = &PyTuple_Type;
  type.tp_new = make;
  type.tp_dealloc = dealloc;
  type.tp_repr = repr;
  type.tp_methods = methods;
  type.tp_as_sequence = &sequence;
  type.tp_as_mapping = &mapping;
  return type;
}
PyTypeObject size_type = make_type();

}  // namespace

Owned make_size(IntList sizes) {
  Owned made = make_empty(sizes.size());
  for (size_t i = 0; i < sizes.size(); ++i) {
    PyObject* number = PyLong_FromLongLong(sizes[i]);
    if (number == nullptr) throw PythonError();
    PyTuple_SET_ITEM(made.get(), static_cast<Py_ssize_t>(i), number);
  }
  return made;
}
Owned make_size_of(PyObject* tuple) {
  Owned made = make_empty(static_cast<size_t>(PyTuple_GET_SIZE(tuple)));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i)
    PyTuple_SET_ITEM(made.get(), i, Py_NewRef(PyTuple_GET_ITEM(tuple, i)));
  return made;
}
bool is_size(PyObject* object) { return Py_IS_TYPE(object, &size_type); }

void add_size_type(PyObject* module) {
  size_type.tp_traverse = PyTuple_Type.tp_traverse;
  sequence = *PyTuple_Type.tp_as_sequence;
  sequence.sq_concat = concat;
  sequence.sq_repeat = repeat;
  mapping = *PyTuple_Type.tp_as_mapping;
  mapping.mp_subscript = subscript;
  check(PyModule_AddType(module, &size_type));
}

}  // namespace sconce::python
