// Compiled: the object that sconce.compile returns for a function. A call binds the arguments, looks for an entry whose guards
// hold, and runs it: graph and recipe without a frame of Python, or the entry's code.
#pragma once

#include <memory>

#include "capture/compiled/code_cache.h"
#include "object.h"

namespace sconce::python::capture {

// The function behind a Compiled object; null for any other object. Borrowed.
PyFunctionObject* function_of_compiled(PyObject* object);

void add_compiled(PyObject* module);

}  // namespace sconce::python::capture
