#include "torch_function.h"

#include "tensor_object.h"

namespace sconce::python {
namespace {

// The object whose class decides: this one, or one inside of a list or tuple; null when there is none.
PyObject* find_overriding(PyObject* object) {
  if (PyList_CheckExact(object) || PyTuple_CheckExact(object)) {
    PyObject* const* items = PySequence_Fast_ITEMS(object);
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i) {
      if (PyObject* found = find_overriding(items[i])) return found;
    }
    return nullptr;
  }
  if (is_tensor(object)) return nullptr;
  PyObject* own = _PyType_Lookup(Py_TYPE(object), text("__torch_function__").get());
  return own != nullptr ? object : nullptr;
}

}  // namespace

Owned call_torch_function(PyObject* function, std::span<PyObject* const> positional, PyObject* names) {
  const size_t keywords = names ? static_cast<size_t>(PyTuple_GET_SIZE(names)) : 0;
  PyObject* found = nullptr;
  for (size_t i = 0; i < positional.size() + keywords && !found; ++i) found = find_overriding(positional.data()[i]);
  if (!found) return {};
  Owned args = Owned::take(PyTuple_New(static_cast<Py_ssize_t>(positional.size())));
  for (size_t i = 0; i < positional.size(); ++i)
    PyTuple_SET_ITEM(args.get(), static_cast<Py_ssize_t>(i), Py_NewRef(positional[i]));
  Owned kwargs = Owned::take(PyDict_New());
  for (size_t i = 0; i < keywords; ++i)
    check(PyDict_SetItem(kwargs.get(), PyTuple_GET_ITEM(names, static_cast<Py_ssize_t>(i)),
                         positional.data()[positional.size() + i]));
  Owned types = Owned::take(PyTuple_Pack(1, Py_TYPE(found)));
  return Owned::take(
      PyObject_CallMethod(found, "__torch_function__", "OOOO", function, types.get(), args.get(), kwargs.get()));
}

}  // namespace sconce::python
