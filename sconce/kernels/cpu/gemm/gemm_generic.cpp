#include "sconce/kernels/cpu/gemm/gemm_generic.h"

#include <algorithm>

#include "sconce/base/error.h"
#include "sconce/base/weak.h"
#include "sconce/kernels/cpu/engine/cpu_level.h"
#include "sconce/kernels/cpu/engine/scratch.h"
#include "sconce/kernels/cpu/simd/gemm/gemm_table.h"

namespace sconce {
namespace {

// std::complex multiplies with a call per product, to repair infinities that the plain formula turns into NaN.
template <class T>
struct Complex {
  T re, im;
  friend Complex operator+(Complex x, Complex y) { return {x.re + y.re, x.im + y.im}; }
  friend Complex operator*(Complex x, Complex y) { return {x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re}; }
};

constexpr int panel = 32;       // sums of a row, most of which stay in registers
constexpr int64_t depth = 256;  // a packed panel has at most 128 KB: it stays in the second-level cache

// b is packed into panels of `panel` columns and at most `depth` rows. The sum of one row of c stays in registers or
// the first-level cache: the inner loop has a constant length, so compilers vectorise it.
template <class T>
void product(const RowsOfProduct& given) {
  const auto& [n, k, a, b, c, epilogue, first_row, last_row] = given;
  auto at = [](const auto* data, int64_t row_stride, int64_t column_stride, int64_t i, int64_t j) -> const T& {
    return static_cast<const T*>(data)[i * row_stride + j * column_stride];
  };
  const auto* bias = static_cast<const T*>(epilogue.bias);
  const auto* residual = static_cast<const T*>(epilogue.residual);
  auto* out = static_cast<T*>(c.data);

  Scratch scratch;
  T* packed = scratch.take<T>(panel * std::min(depth, k));
  for (int64_t j0 = 0; j0 < n; j0 += panel) {
    const int64_t columns = std::min<int64_t>(panel, n - j0);
    for (int64_t p0 = 0; p0 == 0 || p0 < k; p0 += depth) {
      const int64_t steps = std::min(depth, k - p0);
      const bool first = p0 == 0, last = p0 + steps == k;
      for (int64_t p = 0; p < steps; p++) {
        for (int64_t j = 0; j < panel; j++) {
          packed[p * panel + j] = j < columns ? at(b.data, b.row_stride, b.column_stride, p0 + p, j0 + j) : T{};
        }
      }
      for (int64_t i = first_row; i < last_row; i++) {
        T* row = out + i * c.row_stride + j0 * c.column_stride;
        T sums[panel] = {};
        if (!first || epilogue.accumulate) {
          for (int64_t j = 0; j < columns; j++) sums[j] = row[j * c.column_stride];
        }
        for (int64_t p = 0; p < steps; p++) {
          const T x = at(a.data, a.row_stride, a.column_stride, i, p0 + p);
          for (int j = 0; j < panel; j++) sums[j] = sums[j] + x * packed[p * panel + j];
        }
        for (int64_t j = 0; j < columns; j++) {
          if (last && bias) sums[j] = sums[j] + bias[j0 + j];
          if (last && residual) sums[j] = sums[j] + residual[i * epilogue.residual_stride + j0 + j];
          row[j * c.column_stride] = sums[j];
        }
      }
    }
  }
}

}  // namespace

SCONCE_WEAK void gemm_parts::product_of_complex(DType dtype, const RowsOfProduct& rows) {
  dtype == DType::complex64 ? product<Complex<float>>(rows) : product<Complex<double>>(rows);
}

void gemm_generic(DType dtype, const RowsOfProduct& rows) {
  const auto integers = [&](const IntegerTable& table) {
    const auto& [n, k, a, b, c, epilogue, first_row, last_row] = rows;
    Scratch scratch;
    const int64_t work_bytes = integer_work_bytes / integer_depth * std::min(integer_depth, k);
    table.rows({first_row, last_row, n, k, a.data, a.row_stride, a.column_stride, b.data, b.row_stride, b.column_stride,
                c.data, c.row_stride, c.column_stride, epilogue.bias, epilogue.residual, epilogue.residual_stride,
                epilogue.accumulate, scratch.take_bytes(work_bytes)});
  };
  switch (dtype) {
    case DType::uint8:
    case DType::int8:
      return integers(at_cpu_level(SCONCE_OF_EACH_LEVEL(integers_8)));
    case DType::int16:
      return integers(at_cpu_level(SCONCE_OF_EACH_LEVEL(integers_16)));
    case DType::int32:
      return integers(at_cpu_level(SCONCE_OF_EACH_LEVEL(integers_32)));
    case DType::int64:
      return integers(at_cpu_level(SCONCE_OF_EACH_LEVEL(integers_64)));
    case DType::complex64:
    case DType::complex128:
      return gemm_parts::product_of_complex(dtype, rows);
    default:
      fail("matmul: dtype {} has no matrix product", dtype_name(dtype));
  }
}

}  // namespace sconce
