// Conversions between objects of Python and Values, by the types of schemas: what PyTorch's functions take and give.
#pragma once

#include "object.h"
#include "sconce/dispatch/schema.h"
#include "sconce/types/value.h"

namespace sconce::python {

// The value of an object for an argument of this type; false when it does not fit. `fixed_size`: of int[2], for which
// a single number is taken, too. Throws PythonError when the object itself fails (a sequence, an __index__).
bool convert(PyObject* object, TypePtr type, std::optional<int32_t> fixed_size, Value& out);
// The value of an object by what it is, for arguments of type Any and for calls of programs: tuples and lists of
// anything, dicts. Throws Error (type) for objects that programs cannot hold.
Value value_of(PyObject* object);

// The tensors of a sequence, undefined for None in it; a tensor is a sequence of one, and no object none.
std::vector<Tensor> tensors_in(PyObject* object);

// `type`: how the schema names an integer (ScalarType, Layout, MemoryFormat), else null. Programs' objects and futures
// have no object in Python here: throws Error (not_implemented).
Owned object_of(const Value& v, TypePtr type = nullptr);

// "Tensor", "tuple of ints": how PyTorch's messages name the type of a parameter.
std::string type_text(TypePtr type);

}  // namespace sconce::python
