// Doors for tests: the frame hook, and breaks at any instruction, from Python.
#pragma once

#include "object.h"

namespace sconce::python::capture {

void add_frame_doors(PyObject* module);

}  // namespace sconce::python::capture
