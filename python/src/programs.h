// TorchScript programs in Python: ScriptModule, ScriptFunction, and the functions of sconce.jit.
#pragma once

#include "object.h"
#include "sconce/api/jit.h"

namespace sconce::python {

void add_programs(PyObject* module);

Owned wrap_function(jit::Function function);
// Throw PythonError (TypeError) for other objects.
const jit::Function& function_of(PyObject* object);

}  // namespace sconce::python
