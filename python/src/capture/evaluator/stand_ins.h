// Stand-ins: objects of C for what the evaluator runs itself.
#pragma once

#include "object.h"

namespace sconce::python::capture {

class Evaluator;

// Is it a generator of the evaluated program? One that was begun cannot be made again, and must not leave the graph.
bool is_generator(PyObject* object);
// How a generator that was not begun is made again: a callable of C and its arguments. Empty for others.
Owned call_of_generator(Evaluator& e, PyObject* generator);
bool is_coroutine(PyObject* object);

}  // namespace sconce::python::capture
