// Verification of compiled programs: the bytes of a record to tapes that are safe to run (Note [Verified tapes]).
#pragma once

#include <functional>

#include "sconce/serialization/compiled/compiled_program.h"
#include "sconce/serialization/compiled/program_bytes.h"

namespace sconce::compiled {

// A constant of a record: all of its elements must lie inside. Throws Error.
using MakeConstant =
    std::function<Tensor(uint32_t record, DType dtype, IntList sizes, IntList strides, int64_t offset)>;

// Throws Error with the name of the reader, the call and what is wrong. Runs operators on Meta tensors only; random
// numbers that those would draw are given back.
CompiledFunction read_function(ByteReader& in, const MakeConstant& make_constant);

}  // namespace sconce::compiled
