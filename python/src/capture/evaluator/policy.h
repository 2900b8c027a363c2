// Policy: what becomes of a call, by what is called. One table, filled from names at first use, asked by address.
#pragma once

#include <cstdint>

#include "object.h"

namespace sconce::python::capture {

class Evaluator;
struct Arguments;

enum class Treatment : uint8_t {
  unknown,  // nothing is known of it
  handler,  // a function of ours knows what it does
  native,   // CPython calls it; it looks at elements of containers
  blind,    // the same, but it looks at no element
  output,   // writes to the world: a break
  graph_break,
  disabled,
};

using CallHandler = Owned (*)(Evaluator&, PyObject* callable, Arguments&);

struct Known {
  Treatment treatment = Treatment::unknown;
  CallHandler handler = nullptr;
  bool iterables = false;  // its arguments are iterables, and iterators of Python are wrapped for it
};

// What is known of a callable: a function of C, a method descriptor, a class.
Known known_of(PyObject* callable);
// The function of Python that stands for a callable of C; null: none. Borrowed. `of_instances`: for calling an instance
// of the class.
PyObject* polyfill_of(PyObject* callable, bool of_instances = false);
// Is it a class of C whose instances code of C alone works on: list, dict, str, range, the iterators ...
bool is_plain_class(PyTypeObject* type);

// Adds rows of handlers; builtins.cpp fills the table so.
void add_known(const char* module, const char* name, Known known);
void add_known(PyObject* callable, Known known);
// Empty: the function is not that of functools.singledispatch.
Owned dispatch_by_class(Evaluator& e, PyObject* function, const Arguments& args);
void add_builtins();
void add_library_calls();
void add_training_calls();
void add_control_flow_calls();

}  // namespace sconce::python::capture
