// The pointwise engine: runs one operator's loops over operands of any strides and dtypes.
//
// An operand that is dense and already in the type that the loop computes in is used in place. Every other one goes
// through tiles: blocks of 512 elements in the L1 cache, gathered and converted on the way in, converted and scattered
// on the way out. A scalar is stored once and read again and again. Results do not depend on the number of threads.
//
// Values are converted through the common dtype, as PyTorch does: an int64 beside a bfloat16 is rounded to
// bfloat16 before a float32 loop sees it, and a result is rounded to the common dtype before it is stored in an
// output of another one.
#pragma once

#include <cstdint>
#include <span>

#include "sconce/base/export.h"
#include "sconce/kernels/cpu/engine/loop.h"
#include "sconce/tensor/backend.h"
#include "sconce/tensor/dtype.h"

namespace sconce {

// The type that operators compute in when their operands' common dtype is this.
constexpr Compute compute_type(DType common) {
  switch (common) {
    case DType::bool_:
      return Compute::u8;
    case DType::uint8:
    case DType::int8:
    case DType::int16:
    case DType::int32:
    case DType::uint16:
      return Compute::i32;
    case DType::int64:
    case DType::uint32:
    case DType::uint64:  // right for what wraps around and compares bits; nothing else is done with them
      return Compute::i64;
    case DType::float64:
      return Compute::f64;
    case DType::complex64:
      return Compute::c64;
    case DType::complex128:
      return Compute::c128;
    default:
      return Compute::f32;
  }
}

// True when `loops` computes operands of this common dtype; the run functions throw Error otherwise.
SCONCE_API bool has_loop(const PointwiseLoops& loops, DType common);

// out = loops(in...), element by element over `sizes`. `in` has loops.inputs entries, `params` loops.params.
// `out` may be the same memory as an input if its strides are the same; any other overlap gives wrong results.
// Nothing is allocated. Throws Error: no loop for this dtype, or an integer division by zero
// ("ZeroDivisionError"; out is partly written).
SCONCE_API void run_pointwise(const PointwiseLoops& loops, DType common, std::span<const int64_t> sizes,
                              const Operand& out, std::span<const Operand> in, const Param* params = nullptr);

// The same for operands that are dense, in one order, and of the dtype of `compute` (masks: bool or uint8; the result:
// as loops.result says). Bit k of `scalars`: in[k] is a single element. The quickest entry: use it for small tensors.
SCONCE_API void run_dense(const PointwiseLoops& loops, Compute compute, void* out, const void* const* in, int64_t numel,
                          const Param* params = nullptr, uint32_t scalars = 0);

// out = in over `sizes`, between any two dtypes and strides. The two must not overlap, except when they are the same.
SCONCE_API void run_copy(std::span<const int64_t> sizes, const Operand& out, const Operand& in);

// n dense elements from one dtype to another; not overlapping.
SCONCE_API void convert(void* out, DType out_dtype, const void* in, DType in_dtype, int64_t n);

}  // namespace sconce
