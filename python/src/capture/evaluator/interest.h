// Interest: could a function meet a tensor?
//
// Where capture has recorded nothing and no tensor is in sight, other code for the function would gain nothing: it runs as it
// is, and functions that it calls are captured on their own. So programs without tensors are left alone altogether.
#pragma once

#include <span>

#include "object.h"

namespace sconce::python::capture {

// Is a tensor, a module, or something of the library among its arguments, its free variables, or the globals that its code
// names (functions inside of it included)? Looks a few levels into containers and at attributes of instances.
bool may_meet_tensors(PyFunctionObject* function, std::span<PyObject* const> slots);

}  // namespace sconce::python::capture
