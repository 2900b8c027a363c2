// Types and values in compiled files: what arguments of calls and of functions can be, tensors apart.
#pragma once

#include "sconce/serialization/compiled/program_bytes.h"
#include "sconce/types/value.h"

namespace sconce::compiled {

inline constexpr int kMaxDepth = 32;             // of types in types, values in values
inline constexpr uint32_t kMaxItems = 1u << 20;  // of a list, a tuple, a dict

// Throw Error (not_implemented) naming a type or a value that files cannot hold: classes, enums, objects.
void write_type(ByteWriter& out, TypePtr type);
void write_value(ByteWriter& out, const Value& v);

// Throw Error with the name of the reader. Values have the types that they say; devices are the CPU or
// that of the file, without a number.
TypePtr read_type(ByteReader& in, int depth = 0);
Value read_value(ByteReader& in, int depth = 0);

}  // namespace sconce::compiled
