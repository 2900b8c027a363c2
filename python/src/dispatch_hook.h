// Dispatch hooks: Python sees every operator that a call of its own runs, below autograd. make_fx records graphs so.
#pragma once

#include "object.h"

namespace sconce::python {

void add_dispatch_hook(PyObject* module);

}  // namespace sconce::python
