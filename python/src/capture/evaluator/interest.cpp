#include "capture/evaluator/interest.h"

#include <string_view>

#include "capture/guards/tensor_fact.h"
#include "tensor_object.h"

namespace sconce::python::capture {
namespace {

constexpr int kDeep = 3;          // levels of containers
constexpr Py_ssize_t kMany = 64;  // elements of each that are looked at

bool is_of_library(std::string_view name) {
  return name == "sconce" || name.starts_with("sconce.") || name == "torch" || name.starts_with("torch.");
}

// What an object says of the module that it is from; borrowed from dicts alone, so that no code runs.
bool is_from_library(PyObject* o) {
  const auto named = [](PyObject* dict) {
    PyObject* name = dict == nullptr ? nullptr : PyDict_GetItemString(dict, "__module__");
    return name != nullptr && PyUnicode_Check(name) && is_of_library(text_of(name));
  };
  if (PyModule_Check(o)) {
    PyObject* name = PyDict_GetItemString(PyModule_GetDict(o), "__name__");
    return name != nullptr && PyUnicode_Check(name) && is_of_library(text_of(name));
  }
  if (PyFunction_Check(o)) {
    PyObject* name = PyDict_GetItemString(PyFunction_GET_GLOBALS(o), "__name__");
    return name != nullptr && PyUnicode_Check(name) && is_of_library(text_of(name));
  }
  if (PyCFunction_Check(o)) {
    PyObject* name = reinterpret_cast<PyCFunctionObject*>(o)->m_module;
    return name != nullptr && PyUnicode_Check(name) && is_of_library(text_of(name));
  }
  if (PyType_Check(o)) {
    PyObject* mro = reinterpret_cast<PyTypeObject*>(o)->tp_mro;
    for (Py_ssize_t i = 0; mro != nullptr && i < PyTuple_GET_SIZE(mro); ++i) {
      auto* type = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(mro, i));
      if (is_of_library(type->tp_name) || named(type->tp_dict)) return true;
    }
  }
  return false;
}

bool leads_to_tensors(PyObject* o, int depth) {
  if (o == nullptr) return false;
  if (is_tensor(o) || is_torch_tensor(o) || is_from_library(o)) return true;
  if (!PyType_Check(o) && is_from_library(reinterpret_cast<PyObject*>(Py_TYPE(o)))) return true;
  if (depth >= kDeep) return false;
  if (PyMethod_Check(o)) return leads_to_tensors(PyMethod_GET_SELF(o), depth + 1);
  if (PyCell_Check(o)) return leads_to_tensors(PyCell_GET(o), depth);
  if (PyTuple_Check(o) || PyList_Check(o)) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o) && i < kMany; ++i)
      if (leads_to_tensors(PySequence_Fast_GET_ITEM(o, i), depth + 1)) return true;
    return false;
  }
  const auto in_dict = [&](PyObject* dict) {
    Py_ssize_t at = 0, seen = 0;
    PyObject *key = nullptr, *value = nullptr;
    while (seen++ < kMany && PyDict_Next(dict, &at, &key, &value))
      if (leads_to_tensors(value, depth + 1)) return true;
    return false;
  };
  if (PyDict_Check(o)) return in_dict(o);
  PyTypeObject* type = Py_TYPE(o);
  const bool instance = (type->tp_flags & Py_TPFLAGS_HEAPTYPE) != 0 && !PyType_Check(o);
  if (instance && (type->tp_dictoffset != 0 || type->tp_flags & Py_TPFLAGS_MANAGED_DICT)) {
    const Owned dict = Owned::take(PyObject_GenericGetDict(o, nullptr));
    return in_dict(dict.get());
  }
  return false;
}

bool names_library(PyCodeObject* code, PyObject* globals, int depth) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(code->co_names); ++i) {
    PyObject* found = PyDict_GetItemWithError(globals, PyTuple_GET_ITEM(code->co_names, i));
    if (found != nullptr && leads_to_tensors(found, depth == 0 ? 0 : kDeep)) return true;
    // import sconce, inside
    if (is_of_library(text_of(PyTuple_GET_ITEM(code->co_names, i)))) return true;
  }
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(code->co_consts); ++i) {
    PyObject* inner = PyTuple_GET_ITEM(code->co_consts, i);
    if (PyCode_Check(inner) && names_library(reinterpret_cast<PyCodeObject*>(inner), globals, depth + 1)) return true;
  }
  return false;
}

}  // namespace

bool may_meet_tensors(PyFunctionObject* function, std::span<PyObject* const> slots) {
  for (PyObject* slot : slots)
    if (leads_to_tensors(slot, 0)) return true;
  if (function->func_closure != nullptr && leads_to_tensors(function->func_closure, 0)) return true;
  return names_library(reinterpret_cast<PyCodeObject*>(function->func_code), function->func_globals, 0);
}

}  // namespace sconce::python::capture
