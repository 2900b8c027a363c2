// Layout assignment: convolutions of a tape work on channels-last memory, and what stands between them, too.
#pragma once

#include "sconce/executor/tape.h"

namespace sconce::executor {

// Convolutions with constant weights get inputs and results with channels innermost in memory, and so does what is
// between them, if it gives the same bits in any layout (pointwise operators, Trait::layout_free). Where anything else
// looks, and at the results of the tape, tensors are rearranged to the strides that the program has seen.
void assign_layouts(Tape& tape);

}  // namespace sconce::executor
