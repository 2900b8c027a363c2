// Argument binding: the arguments of a call as slots of the function's frame, as CPython would lay them out: positional ones,
// keyword-only ones, *args, **kwargs; defaults where none were given.
#pragma once

#include <array>
#include <vector>

#include "object.h"

namespace sconce::python::capture {

class BoundArguments {
 public:
  // `args` must outlive it. When they are what the function takes, in order, nothing is copied.
  BoundArguments(PyFunctionObject* function, PyObject* const* args, size_t count, PyObject* names) {
    const auto* code = reinterpret_cast<PyCodeObject*>(function->func_code);
    constexpr int kStarred = CO_VARARGS | CO_VARKEYWORDS;
    if (names == nullptr && count == static_cast<size_t>(code->co_argcount) && code->co_kwonlyargcount == 0 &&
        (code->co_flags & kStarred) == 0)
      slots_ = args;
    else
      bind(function, args, count, names);
  }
  BoundArguments(const BoundArguments&) = delete;

  // Null when the function does not take such arguments: calling it raises what CPython raises.
  PyObject* const* slots() const { return slots_; }

 private:
  void bind(PyFunctionObject* function, PyObject* const* args, size_t count, PyObject* names);

  PyObject* const* slots_ = nullptr;
  std::vector<PyObject*> bound_;
  Owned positional_, keywords_;  // *args and **kwargs
};

}  // namespace sconce::python::capture
