// Doors for tests and logs: bytecode of capture, from Python.
#pragma once

#include "object.h"

namespace sconce::python::capture {

// _capture_decode(code), _capture_round_trip(code), _capture_stack_sizes(code).
void add_bytecode_doors(PyObject* module);

}  // namespace sconce::python::capture
