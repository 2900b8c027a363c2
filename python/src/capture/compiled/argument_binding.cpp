#include "capture/compiled/argument_binding.h"

namespace sconce::python::capture {

void BoundArguments::bind(PyFunctionObject* function, PyObject* const* args, size_t count, PyObject* names) {
  auto* code = reinterpret_cast<PyCodeObject*>(function->func_code);
  const auto positional = static_cast<size_t>(code->co_argcount),
             keyword_only = static_cast<size_t>(code->co_kwonlyargcount);
  const size_t named = positional + keyword_only;
  const bool takes_more = code->co_flags & CO_VARARGS, takes_names = code->co_flags & CO_VARKEYWORDS;
  bound_.assign(named + takes_more + takes_names, nullptr);
  if (count > positional && !takes_more) return;
  for (size_t i = 0; i < std::min(count, positional); ++i) bound_[i] = args[i];
  if (takes_more) {
    const size_t more = count > positional ? count - positional : 0;
    positional_ = Owned::take(PyTuple_New(static_cast<Py_ssize_t>(more)));
    for (size_t i = 0; i < more; ++i)
      PyTuple_SET_ITEM(positional_.get(), static_cast<Py_ssize_t>(i), Py_NewRef(args[positional + i]));
    bound_[named] = positional_.get();
  }
  if (takes_names) {
    keywords_ = Owned::take(PyDict_New());
    bound_[named + takes_more] = keywords_.get();
  }
  const Py_ssize_t given = names ? PyTuple_GET_SIZE(names) : 0;
  for (Py_ssize_t k = 0; k < given; ++k) {
    PyObject *name = PyTuple_GET_ITEM(names, k), *value = args[count + static_cast<size_t>(k)];
    size_t at = named;
    for (size_t i = static_cast<size_t>(code->co_posonlyargcount); i < named && at == named; ++i) {
      PyObject* own = PyTuple_GET_ITEM(code->co_localsplusnames, static_cast<Py_ssize_t>(i));
      if (own == name || PyUnicode_Compare(own, name) == 0) at = i;
    }
    if (at < named) {
      if (bound_[at] != nullptr) return;  // given twice
      bound_[at] = value;
    } else if (!takes_names || PyDict_Contains(keywords_.get(), name) != 0) {
      return;
    } else {
      check(PyDict_SetItem(keywords_.get(), name, value));
    }
  }
  const Py_ssize_t defaults = function->func_defaults ? PyTuple_GET_SIZE(function->func_defaults) : 0;
  for (size_t i = 0; i < positional; ++i) {
    if (bound_[i] != nullptr) continue;
    const Py_ssize_t at = static_cast<Py_ssize_t>(i) - (static_cast<Py_ssize_t>(positional) - defaults);
    if (at < 0) return;
    bound_[i] = PyTuple_GET_ITEM(function->func_defaults, at);
  }
  for (size_t i = positional; i < named; ++i) {
    if (bound_[i] != nullptr) continue;
    PyObject* name = PyTuple_GET_ITEM(code->co_localsplusnames, static_cast<Py_ssize_t>(i));
    bound_[i] = function->func_kwdefaults ? PyDict_GetItemWithError(function->func_kwdefaults, name) : nullptr;
    if (bound_[i] == nullptr) {
      PyErr_Clear();
      return;
    }
  }
  slots_ = bound_.data();
}

}  // namespace sconce::python::capture
