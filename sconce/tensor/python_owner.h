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

struct TensorImpl;

// Hands a tensor that owns its object, and that has no other owner left, over to this object: the object owns it again.
// The object decides whether both are freed now: a weak reference may have given the object to others in the meantime.
// The function takes over the one count of the tensor. It returns false if there is no Python any more: then the tensor
// is freed alone. The Python package sets the function; any thread calls it.
using PythonRelease = bool (*)(TensorImpl* impl) noexcept;
SCONCE_API void set_python_release(PythonRelease release) noexcept;

}  // namespace sconce
