// The base type of nn.Module: what is called for every module and every attribute of one (calls, attributes) is here;
// registration, hooks and state are written in Python (nn/module.py).
#pragma once

#include "object.h"

namespace sconce::python {

void add_module_type(PyObject* module);

}  // namespace sconce::python
