// Values and types: whether a value has a type at run time, and values as ones of a type.
#pragma once

#include "sconce/types/value.h"

namespace sconce::runtime {

// Whether a value has a type. Lists and dicts know their element types.
bool is_instance(const Value& v, TypePtr type);

// An argument as a value of the type, as PyTorch converts it at its Python boundary: bool and int are taken for float,
// lists, dicts and tuples are copied. False when it cannot be; then it is as it was.
bool convert_argument(Value& v, TypePtr type);

// x.tolist() as the type that the program expects: nested lists as deep as the tensor, or a number.
Value tensor_to_list(const Tensor& t, TypePtr type);
// That type as lite bytecode says it: how deep, and a number for the kind of elements. Throws Error.
TypePtr tolist_type(int64_t dims, int64_t kind);

}  // namespace sconce::runtime
