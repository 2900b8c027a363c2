// Products of integers, which wrap around: numbers of up to 32 bits are multiplied and summed in 32, others in 64 bits,
// and the low bits are kept.
#include "sconce/base/weak.h"
#include "sconce/kernels/cpu/simd/gemm/gemm_table.h"
#include "sconce/kernels/cpu/simd/gemm/gemm_vector.h"

namespace sconce::SCONCE_ISA_NAMESPACE {
namespace {

using matrix::lanes;
using matrix::load;
using matrix::store;
using matrix::Vec;

constexpr int tile_rows = 4;

// Rows x two vectors of sums over `depth` packed rows of b, added to sums[Rows][2 vectors].
template <class T, class Stored, int Rows>
GEMM_INLINE void integer_tile(const Stored* a, int64_t a_row, int64_t a_column, const T* b, int64_t depth, T* sums) {
  Vec<T> acc[Rows][2];
  GEMM_UNROLL for (int i = 0; i < Rows; i++) {
    GEMM_UNROLL for (int j = 0; j < 2; j++) acc[i][j] = load(sums + (i * 2 + j) * lanes<T>);
  }
  for (int64_t p = 0; p < depth; p++, a += a_column, b += 2 * lanes<T>) {
    const Vec<T> b0 = load(b), b1 = load(b + lanes<T>);
    GEMM_UNROLL for (int i = 0; i < Rows; i++) {
      const Vec<T> x = Vec<T>{} + static_cast<T>(a[i * a_row]);
      acc[i][0] += x * b0;
      acc[i][1] += x * b1;
    }
  }
  GEMM_UNROLL for (int i = 0; i < Rows; i++) {
    GEMM_UNROLL for (int j = 0; j < 2; j++) store(sums + (i * 2 + j) * lanes<T>, acc[i][j]);
  }
}

template <class T, class Stored>
void integer_rows(const IntegerArgs& args) {
  constexpr int64_t width = 2 * lanes<T>;
  const auto* a = static_cast<const Stored*>(args.a);
  const auto* b = static_cast<const Stored*>(args.b);
  const auto* bias = static_cast<const Stored*>(args.bias);
  const auto* residual = static_cast<const Stored*>(args.residual);
  auto* c = static_cast<Stored*>(args.c);
  auto* packed = static_cast<T*>(args.work);
  for (int64_t j0 = 0; j0 < args.n; j0 += width) {
    const int64_t columns = args.n - j0 < width ? args.n - j0 : width;
    for (int64_t p0 = 0; p0 == 0 || p0 < args.k; p0 += integer_depth) {
      const int64_t depth = args.k - p0 < integer_depth ? args.k - p0 : integer_depth;
      const bool first = p0 == 0, last = p0 + depth >= args.k;
      for (int64_t p = 0; p < depth; p++) {
        const Stored* row = b + (p0 + p) * args.b_row + j0 * args.b_column;
        for (int64_t j = 0; j < width; j++) {
          packed[p * width + j] = j < columns ? static_cast<T>(row[j * args.b_column]) : 0;
        }
      }
      for (int64_t i0 = args.first_row; i0 < args.last_row; i0 += tile_rows) {
        const int64_t rows = args.last_row - i0 < tile_rows ? args.last_row - i0 : tile_rows;
        T sums[tile_rows * width];
        for (int64_t i = 0; i < rows; i++) {
          const Stored* from = c + (i0 + i) * args.c_row + j0 * args.c_column;
          for (int64_t j = 0; j < width; j++) {
            const bool adds = j < columns && (!first || args.accumulate);
            sums[i * width + j] = adds ? static_cast<T>(from[j * args.c_column]) : 0;
          }
        }
        const Stored* rows_of_a = a + i0 * args.a_row + p0 * args.a_column;
        if (rows == tile_rows) {
          integer_tile<T, Stored, tile_rows>(rows_of_a, args.a_row, args.a_column, packed, depth, sums);
        } else {
          for (int64_t i = 0; i < rows; i++) {
            integer_tile<T, Stored, 1>(rows_of_a + i * args.a_row, args.a_row, args.a_column, packed, depth,
                                       sums + i * width);
          }
        }
        for (int64_t i = 0; i < rows; i++) {
          Stored* to = c + (i0 + i) * args.c_row + j0 * args.c_column;
          for (int64_t j = 0; j < columns; j++) {
            T value = sums[i * width + j];
            if (last && bias) value += static_cast<T>(bias[j0 + j]);
            if (last && residual) value += static_cast<T>(residual[(i0 + i) * args.residual_stride + j0 + j]);
            to[j * args.c_column] = static_cast<Stored>(value);
          }
        }
      }
    }
  }
}

}  // namespace

SCONCE_WEAK extern constinit const IntegerTable integers_8 = {integer_rows<uint32_t, uint8_t>};
SCONCE_WEAK extern constinit const IntegerTable integers_16 = {integer_rows<uint32_t, uint16_t>};
SCONCE_WEAK extern constinit const IntegerTable integers_32 = {integer_rows<uint32_t, uint32_t>};
SCONCE_WEAK extern constinit const IntegerTable integers_64 = {integer_rows<uint64_t, uint64_t>};

}  // namespace sconce::SCONCE_ISA_NAMESPACE
