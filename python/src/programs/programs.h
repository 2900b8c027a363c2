// TorchScript programs in Python: functions, modules, and the functions of sconce.jit.
#pragma once

#include "object.h"
#include "sconce/api/jit.h"

namespace sconce::python {

void add_programs(PyObject* module);

Owned wrap_function(jit::Function function);
// A sconce.jit.RecursiveScriptModule.
Owned wrap_module(jit::Module module);
// Throw PythonError (TypeError) for other objects.
const jit::Function& function_of(PyObject* object);
const jit::Module& module_of(PyObject* object);
// Null for other objects.
const jit::Module* find_module(PyObject* object);

}  // namespace sconce::python
