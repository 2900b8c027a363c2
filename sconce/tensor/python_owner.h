// Ownership by Python: a tensor that keeps the Python object which stands for it alive.
//
// TensorImpl::python is the object, one to one. Usually the object owns the tensor, and the pointer is plain. An object
// with state (attributes, a subclass, weak references) that nobody in Python refers to any more, while C++ still has
// the tensor, must not be lost: then the tensor owns the object, and the pointer has its lowest bit set.
#pragma once

#include <cstdint>

#include "sconce/base/export.h"

namespace sconce {

inline constexpr uintptr_t kOwnsPython = 1;

// Gives back an object that a tensor owned. The Python package sets it; it is called when such a tensor is destroyed,
// from any thread.
using PythonRelease = void (*)(void* object);
SCONCE_API void set_python_release(PythonRelease release) noexcept;

}  // namespace sconce
