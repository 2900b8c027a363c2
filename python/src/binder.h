// Binder: calls operators from Python. One function of Python stands for all overloads of a name; the first whose
// arguments fit is called, in the order of the registry, as PyTorch's parser of arguments does.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "object.h"
#include "sconce/dispatch/op.h"

namespace sconce::python {

// sconce.NAME of operators aten::NAME; empty when there is none that Python may call.
Owned find_function(std::string_view name);
// sconce.ops.NAMESPACE.NAME (all overloads) and sconce.ops.NAMESPACE.NAME.OVERLOAD; empty when there is none.
Owned find_packet(std::string_view qualified);
// Adds functions for all names that find_function knows, and methods for those that take a tensor called `self`, where
// the dict has nothing of the name.
void add_functions(PyObject* dict);
void add_methods(PyObject* dict);
// Every name that find_function knows.
std::vector<std::string> function_names();

// A call of C++ for Python's sake (slots of Tensor): positional arguments only. When no overload fits, returns
// NotImplemented instead of an error if `or_not_implemented`.
struct Overloads;
Owned call(const Overloads& overloads, std::span<PyObject* const> args, bool or_not_implemented = false);
const Overloads& overloads_for_slot(const char* name);  // lives on

// sconce.relu, Tensor.relu, sconce.ops.aten.relu: one of the objects above.
bool is_library_function(PyObject* object);

void add_binder(PyObject* module);

}  // namespace sconce::python
