#include "capture/evaluator/warnings_guard.h"

namespace sconce::python::capture {
namespace {

// ("error", any message, Warning, any module, any line)
PyObject* filter() {
  static PyObject* const made =
      Owned::take(Py_BuildValue("(sOOOi)", "error", Py_None, PyExc_Warning, Py_None, 0)).give();
  return made;
}

}  // namespace

WarningsGuard::WarningsGuard() {
  static PyObject* const name = Owned::take(PyUnicode_InternFromString("warnings")).give();
  static PyObject* const attribute = Owned::take(PyUnicode_InternFromString("filters")).give();
  PyObject* module = PyDict_GetItemWithError(PyImport_GetModuleDict(), name);
  PyObject* list = module == nullptr || !PyModule_Check(module)
                       ? nullptr
                       : PyDict_GetItemWithError(PyModule_GetDict(module), attribute);
  if (list == nullptr || !PyList_CheckExact(list)) {
    PyErr_Clear();
    return;
  }
  // Without _filters_mutated(): what was warned of before stays noted, and is no effect a second time.
  if (PyList_Insert(list, 0, filter()) == 0)
    filters_ = Owned::share(list);
  else
    PyErr_Clear();
}

WarningsGuard::~WarningsGuard() {
  if (!filters_) return;
  PyObject* list = filters_.get();
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) {
    if (PyList_GET_ITEM(list, i) != filter()) continue;
#if PY_VERSION_HEX >= 0x030c0000
    PyObject* error = PyErr_GetRaisedException();
    if (PyList_SetSlice(list, i, i + 1, nullptr) != 0) PyErr_Clear();
    PyErr_SetRaisedException(error);
#else
    PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
    PyErr_Fetch(&type, &value, &trace);
    if (PyList_SetSlice(list, i, i + 1, nullptr) != 0) PyErr_Clear();
    PyErr_Restore(type, value, trace);
#endif
    return;
  }
}

}  // namespace sconce::python::capture
