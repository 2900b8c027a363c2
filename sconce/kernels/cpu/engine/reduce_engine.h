// The reduction engine: runs one reduction's kernels over operands of any strides and dtypes. See Note [Leaves].
//
// Elements that lie adjacent in the type that the kernels compute in are used in place; others are gathered and
// converted into tiles, a leaf at a time, as in the pointwise engine: through the common dtype, so that a float32 that
// is summed as float16 is rounded first. Results do not depend on the number of threads.
#pragma once

#include <span>

#include "sconce/kernels/cpu/engine/iterate.h"
#include "sconce/kernels/cpu/engine/reduce_loop.h"

namespace sconce {

// True when `loops` computes elements of this common dtype; run_reduce throws Error otherwise.
bool has_reduction(const ReduceLoops& loops, DType common);

// Reduces the dimensions d of `sizes` with reduced[d]. `in` and the loops.results operands `out` have one stride per
// size; those of an output are not read at reduced dimensions. An output must not overlap anything.
void run_reduce(const ReduceLoops& loops, DType common, std::span<const int64_t> sizes, const bool* reduced,
                const Operand& in, std::span<const Operand> out, const Param* params = nullptr);

// The quickest entry: n adjacent elements of the compute type of `dtype` to one result of that dtype (or int64 for an
// index). Returns false, and does nothing, when it does not serve this case.
bool run_reduce_dense(const ReduceLoops& loops, DType dtype, const void* in, int64_t n, void* out, DType out_dtype,
                      const Param* params);

}  // namespace sconce
