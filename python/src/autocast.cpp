#include "autocast.h"

#include "sconce/autograd/autocast_mode.h"
#include "sconce/base/error.h"
#include "sconce/dispatch/binding/autocast.h"
#include "small_objects.h"

namespace sconce::python {
namespace {

PyObject* set_autocast(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    int enabled = 0, cached = 0;
    PyObject* dtype = nullptr;
    if (!PyArg_ParseTuple(args, "pOp", &enabled, &dtype, &cached)) throw PythonError();
    SCONCE_CHECK_AS(type, is_dtype(dtype), "autocast: a dtype was expected, got {}", class_name(dtype));
    autograd::set_autocast(enabled != 0, static_cast<DType>(number_of(dtype)));
    autograd::set_autocast_cache(cached != 0);
    Py_RETURN_NONE;
  });
}
// (enabled, dtype, cache enabled)
PyObject* autocast_state(PyObject*, PyObject*) {
  return Py_BuildValue("(NON)", PyBool_FromLong(autograd::autocast_enabled()), dtype_object(autocast_dtype()),
                       PyBool_FromLong(autograd::autocast_cache_enabled()));
}
thread_local uint64_t clears = 0;
PyObject* clear_cache(PyObject*, PyObject*) {
  autograd::clear_autocast_cache();
  ++clears;
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {{"_set_autocast", set_autocast, METH_VARARGS, nullptr},
                           {"_autocast_state", autocast_state, METH_NOARGS, nullptr},
                           {"clear_autocast_cache", clear_cache, METH_NOARGS,
                            "clear_autocast_cache(): forgets the weights that autocast has converted."},
                           {}};

}  // namespace

uint64_t autocast_clears() { return clears; }

void add_autocast(PyObject* module) { check(PyModule_AddFunctions(module, functions)); }

}  // namespace sconce::python
