// Stand-ins: objects of C for what the evaluator runs itself.
#pragma once

#include "object.h"

namespace sconce::python::capture {

// Is it a generator of the evaluated program? It cannot be made again, and must not leave the graph.
bool is_generator(PyObject* object);
bool is_coroutine(PyObject* object);

}  // namespace sconce::python::capture
