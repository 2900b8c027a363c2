// Calls of operators with objects that are no tensors and stand for one: fx.Proxy and other classes with __torch_function__.
#pragma once

#include <span>

#include "object.h"

namespace sconce::python {

// What __torch_function__ of the first argument that has one (itself or in a list or tuple) makes of the call; `names`
// are keywords, whose values follow the positional arguments. Empty when no argument has one. Throws PythonError.
Owned call_torch_function(PyObject* function, std::span<PyObject* const> positional, PyObject* names);

}  // namespace sconce::python
