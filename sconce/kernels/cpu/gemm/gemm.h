// GEMM: matrix products over raw memory, c = a b, with a in [m, k], b in [k, n] and c in [m, n], any strides.
//
// float32 and float64 run on packed vector tiles; bfloat16 and float16 are summed in float32 and rounded once, bfloat16
// multiplied in pairs if the processor has AVX512_BF16 or FEAT_BF16, else both converted to float32 on the way in;
// integers wrap around; complex numbers run on a plain blocked loop. Rows and columns are split over the threads of
// parallel.h, the inner dimension never is: results do not depend on the number of threads.
//
// Note [Order of sums]
// A result of a floating dtype has the same bits however its operands lie in memory, whether b is packed, and whichever
// part of a product is computed at once: for given numbers the order in which products are summed depends on the
// level of the kernels and on m, n, k alone, and is the same for m, n and n, m. There are two:
//   in sequence  p = 0, 1, ..., k - 1. What tiles do for each of their results.
//   by lanes     each lane of a vector along k by itself, then the lanes: pairs of neighbours within 16 bytes, then the
//                halves of the vector. What a dot product does that reads both factors along k; for few rows or
//                columns nothing is faster. The first of these sums is not c where a product is added to c: c is added
//                at the end, before the biases.
// sum_order says which one a product has. Provider oneDNN (provider.h) has orders of its own; of results that are NaN
// only that is the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "sconce/base/export.h"
#include "sconce/tensor/dtype.h"

namespace sconce {

template <class T>
struct GemmTable;
struct Bf16Table;

// The kernels of one instruction set. Convolutions have more (conv_kernels.h).
struct MatrixKernels {
  int level;  // as cpu_level()
  const GemmTable<float>* f32;
  const GemmTable<double>* f64;
  const Bf16Table* bf16;  // null where the processor does not multiply bfloat16 numbers
};

// Those of this machine; those of a given level (2, 3, 4), which the machine must have. Throws for other numbers.
SCONCE_API const MatrixKernels& matrix_kernels();
SCONCE_API const MatrixKernels& matrix_kernels(int level);

// Memory of a matrix. Strides count elements, may be zero or negative. Size and dtype are given with the call.
struct ConstMatrix {
  const void* data;
  int64_t row_stride, column_stride;
};
struct Matrix {
  void* data;
  int64_t row_stride, column_stride;
  operator ConstMatrix() const { return {data, row_stride, column_stride}; }
};

// Epilogue: the arithmetic on a product before it is stored,
//   c = clamp(((accumulate ? c : 0) + a b + bias + row_bias) * scale + shift + residual, lo, hi), then post(c)
// bias, row_bias, scale, shift and residual have the dtype of c and may be null. The clamp is for real floating dtypes
// only and keeps NaN.
struct Epilogue {
  const void* bias = nullptr;      // [n], contiguous: one value a column
  const void* row_bias = nullptr;  // [m], contiguous: one value a row. float32 and float64 only, without bias
  // [n], contiguous: a batch norm with constant statistics, as addcmul computes it: the product and the sum are rounded
  // together, where the level has such an instruction. Both or none; float32 and float64 only.
  const void* scale = nullptr;
  const void* shift = nullptr;
  const void* residual = nullptr;  // [m, n], contiguous along n
  int64_t residual_stride = 0;     // elements from row to row
  double lo = -std::numeric_limits<double>::infinity();
  double hi = std::numeric_limits<double>::infinity();
  bool accumulate = false;
  // Called on finished blocks while they are in cache, from several threads: every element of c is in exactly one
  // block. `block` points to element [row, column] of c. Other activations plug in here.
  void (*post)(void* context, void* block, int64_t row_stride, int64_t column_stride, int64_t row, int64_t column,
               int64_t rows, int64_t columns) = nullptr;
  void* post_context = nullptr;
  int64_t first_row = 0;  // the number that post is told for row 0
};

// See Note [Order of sums]. A part of the rows or columns of a product is given `in_sequence` where the whole has that
// order: it may have so few that it would be summed by lanes itself.
enum class SumOrder : uint8_t { automatic, in_sequence, by_lanes };
SCONCE_API SumOrder sum_order(int64_t m, int64_t n, int64_t k);

// c must not overlap a, b or, unless may_overwrite_residual, the residual. Throws Error for bool, and for a clamp of
// integers or complex numbers. Sizes may be zero; with k == 0 the product is zero.
SCONCE_API void gemm(DType dtype, int64_t m, int64_t n, int64_t k, ConstMatrix a, ConstMatrix b, Matrix c,
                     const Epilogue& epilogue = {}, const MatrixKernels& kernels = matrix_kernels(),
                     SumOrder order = SumOrder::automatic);

// The same, of the same bits, for a b that is contiguous along k and a new c that is contiguous along n.
void gemm_along_k(DType dtype, int64_t m, int64_t n, int64_t k, ConstMatrix a, ConstMatrix b, Matrix c,
                  const Epilogue& epilogue);

// Whether c, contiguous along n, may be the memory of the residual, of the same strides: where a product of float32 or
// float64 is summed in one go, each element is written once, behind the read of its residual.
SCONCE_API bool may_overwrite_residual(DType dtype, int64_t m, int64_t n, int64_t k);

// A constant b is packed once for many products: bytes needed, packing, product, which has the bits of gemm's. The
// packed form belongs to the level of the kernels that packed it and is not a file format. `packed` must be aligned to
// 64 bytes. Floating dtypes only; float16, and bfloat16 where kernels.bf16 is null, are packed as float32. Nothing is
// gained by it for products that are summed by lanes, if b is contiguous along k.
SCONCE_API size_t packed_b_bytes(DType dtype, int64_t k, int64_t n, const MatrixKernels& kernels = matrix_kernels());
SCONCE_API void pack_b(DType dtype, int64_t k, int64_t n, ConstMatrix b, void* packed,
                       const MatrixKernels& kernels = matrix_kernels());
SCONCE_API void gemm_packed(DType dtype, int64_t m, int64_t n, int64_t k, ConstMatrix a, const void* packed, Matrix c,
                            const Epilogue& epilogue = {}, const MatrixKernels& kernels = matrix_kernels(),
                            SumOrder order = SumOrder::automatic);

// `batch` products; matrix i starts i * ..._stride elements after the first. Strides of a and b may be zero. bias is
// the same for all; the residual of item i starts i * residual_batch_stride elements after the first; post sees rows
// numbered through the batch (item i has rows i * m to i * m + m - 1). Each product has the bits of gemm's.
struct BatchStrides {
  int64_t a, b, c, residual = 0;
};
SCONCE_API void gemm_batched(DType dtype, int64_t batch, int64_t m, int64_t n, int64_t k, ConstMatrix a, ConstMatrix b,
                             Matrix c, BatchStrides strides, const Epilogue& epilogue = {},
                             const MatrixKernels& kernels = matrix_kernels(), SumOrder order = SumOrder::automatic);

}  // namespace sconce
