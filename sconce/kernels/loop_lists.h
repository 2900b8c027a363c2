// Lists of loops: every pointwise operator and reduction of the table, for a device that has its own code for each.
#pragma once

#include <span>

#include "sconce/base/export.h"
#include "sconce/kernels/cpu/engine/reduce_loop.h"

namespace sconce {

// In the order of the table's files, which is that of libsconce_cuda's texts. Hand-written reductions (argmax) come
// last.
SCONCE_API std::span<const PointwiseLoops* const> pointwise_loops();
SCONCE_API std::span<const ReduceLoops* const> reduce_loops();

}  // namespace sconce
