// sconce.library: operators that are defined in Python, and kernels that are functions of Python.
#pragma once

#include "object.h"

namespace sconce::python {

void add_library(PyObject* module);

}  // namespace sconce::python
