// Bit digest: a hash over all results that comparisons looked at, so that two runs of one case can be held against each
// other bit for bit.
#pragma once

#include <cstdint>

#include "sconce/types/value.h"

namespace sconce::testing {

// Adds a result: the elements of a tensor with memory, or the number. NaN counts as one value: which of two NaNs an
// addition hands on is the compiler's choice.
void note_bits(const Value& result);
// The hash of what was added since the last call, in the order in which it was.
uint64_t take_bits();

}  // namespace sconce::testing
