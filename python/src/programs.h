// TorchScript programs in Python: ScriptModule, ScriptFunction, and the functions of sconce.jit.
#pragma once

#include "object.h"

namespace sconce::python {

void add_programs(PyObject* module);

}  // namespace sconce::python
