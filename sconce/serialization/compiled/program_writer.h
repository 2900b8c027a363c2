// Serialisation of compiled programs: functional tapes to the bytes of a record.
#pragma once

#include <unordered_map>

#include "sconce/serialization/compiled/compiled_program.h"

namespace sconce::compiled {

// Where a constant lies: a record of the file, and elements from its beginning.
struct ConstantPlace {
  uint32_t record;
  int64_t offset;
};

// The function with its programs, whose tapes are numbered in any way; each of their constants is one of the
// function's. Throws Error (not_implemented) for what files cannot hold.
std::string write_function(const CompiledFunction& function, const std::vector<ConstantPlace>& places);

}  // namespace sconce::compiled
