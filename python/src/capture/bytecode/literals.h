// Texts of constants, for sources: literals where Python has one, names for all other objects.
#pragma once

#include <optional>
#include <string>

#include "object.h"

namespace sconce::python::capture {

// "3", "'a'", "(1, None)", "float('nan')"; none for an object that has no literal.
std::optional<std::string> literal(PyObject* constant);
// A name for it: its own, as letters, digits and underscores.
std::string object_name(PyObject* object);
bool is_identifier(PyObject* text);

}  // namespace sconce::python::capture
