// Stream compaction: the positions of the elements that are not zero.
#pragma once

#include "sconce/tensor/tensor.h"

namespace sconce {

// One row of indices (int64) per element, in row-major order of positions: [count, t.dim()], stored column by column.
// Throws Error on Meta.
Tensor nonzero_positions(const Tensor& t);

}  // namespace sconce
