// Unsupported tensors: those of dtypes that Sconce does not compute with are read as named tuples of what is known of
// them, so that a file which holds them can be listed and the rest of it used.
#pragma once

#include <string>
#include <string_view>

#include "sconce/types/value.h"

namespace sconce {

// ForeignTensor(dtype, size): of a dtype that Sconce does not have.
Value make_foreign(std::string_view dtype, Value size);

#ifdef SCONCE_SMALL  // whose readers refuse them
constexpr bool is_special_tensor(const Value&) { return false; }
#else
SCONCE_API bool is_special_tensor(const Value& v);
#endif
// "tensor of float8_e5m2fnuz (8,)"
SCONCE_API std::string describe_special_tensor(const Value& v);

}  // namespace sconce
