// Results by recipe: what a function returns, made of what its graph returned.
#pragma once

#include "capture/trace.h"
#include "object.h"

namespace sconce::python::capture {

// `outputs`: what the graph returned. Throws PythonError.
Owned make_result(const Recipe& recipe, const Owned* outputs, PyObject* const* slots);
int traverse_recipe(const Recipe& recipe, visitproc visit, void* arg);

}  // namespace sconce::python::capture
