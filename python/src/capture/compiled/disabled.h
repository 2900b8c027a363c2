// Disabled functions (sconce.compiler.disable): callables of C, which capture does not look into. A call runs the function as it
// is, without the frame hook.
#pragma once

#include "object.h"

namespace sconce::python::capture {

bool is_disabled(PyObject* object);

void add_disabled(PyObject* module);

}  // namespace sconce::python::capture
