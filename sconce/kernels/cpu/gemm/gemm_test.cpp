#include "sconce/kernels/cpu/gemm/gemm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstring>
#include <random>
#include <vector>

#include "sconce/base/error.h"
#include "sconce/base/parallel.h"
#include "sconce/kernels/cpu/engine/cpu_level.h"
#include "sconce/tensor/half.h"

namespace sconce {
namespace {

// A matrix of doubles stored in some dtype and layout, with a guard element around every used one where strides allow.
enum class Layout { rows, columns, spread };

void put(DType dtype, void* data, int64_t index, double value) {
  switch (dtype) {
    case DType::float32:
      static_cast<float*>(data)[index] = static_cast<float>(value);
      break;
    case DType::float64:
      static_cast<double*>(data)[index] = value;
      break;
    case DType::bfloat16:
      static_cast<BFloat16*>(data)[index] = to_bfloat16(static_cast<float>(value));
      break;
    case DType::float16:
      static_cast<Half*>(data)[index] = to_half(static_cast<float>(value));
      break;
    default:
      FAIL() << "no such dtype in this test";
  }
}
double get(DType dtype, const void* data, int64_t index) {
  switch (dtype) {
    case DType::float32:
      return static_cast<const float*>(data)[index];
    case DType::float64:
      return static_cast<const double*>(data)[index];
    case DType::bfloat16:
      return to_float(static_cast<const BFloat16*>(data)[index]);
    default:
      return to_float(static_cast<const Half*>(data)[index]);
  }
}

struct Stored {
  DType dtype;
  int64_t rows, columns, row_stride, column_stride;
  std::vector<char> bytes;

  Stored(DType type, int64_t r, int64_t c, Layout layout, uint32_t seed) : dtype(type), rows(r), columns(c) {
    row_stride = layout == Layout::rows ? c + 3 : layout == Layout::columns ? 1 : 3 * c + 1;
    column_stride = layout == Layout::rows ? 1 : layout == Layout::columns ? r + 2 : 3;
    bytes.resize(static_cast<size_t>(rows * columns * 3 + 4 * (rows + columns) + 8) * item_size(dtype), '\x7f');
    std::mt19937 random(seed);
    for (int64_t i = 0; i < rows * columns; i++) {
      put(dtype, bytes.data(), i / columns * row_stride + i % columns * column_stride,
          static_cast<double>(random() % 2001) / 1000 - 1);
    }
  }
  double at(int64_t i, int64_t j) const { return get(dtype, bytes.data(), i * row_stride + j * column_stride); }
  std::vector<double> values(bool by_columns = false) const {
    std::vector<double> result;
    for (int64_t i = 0; i < rows * columns; i++) {
      result.push_back(by_columns ? at(i % rows, i / rows) : at(i / columns, i % columns));
    }
    return result;
  }
  ConstMatrix view() const { return {bytes.data(), row_stride, column_stride}; }
  Matrix view() { return {bytes.data(), row_stride, column_stride}; }
};

void relu_in_place(void* context, void* block, int64_t row_stride, int64_t column_stride, int64_t row, int64_t column,
                   int64_t rows, int64_t columns) {
  auto& c = *static_cast<Stored*>(context);
  EXPECT_EQ(block,
            c.bytes.data() + (row * row_stride + column * column_stride) * static_cast<int64_t>(item_size(c.dtype)));
  for (int64_t i = 0; i < rows; i++) {
    for (int64_t j = 0; j < columns; j++) {
      int64_t index = i * row_stride + j * column_stride;
      put(c.dtype, block, index, std::abs(get(c.dtype, block, index)));
    }
  }
}

struct Case {
  int64_t m, n, k;
  Layout a = Layout::rows, b = Layout::rows, c = Layout::rows;
  int epilogue =
      0;  // bits: 1 bias, 2 residual, 4 clamp, 8 accumulate, 16 post, 32 scale and shift (float32 and float64)
  bool packed = false;
};

struct Aligned {
  explicit Aligned(size_t bytes) : data(operator new(bytes + 64, std::align_val_t{64})) {}
  ~Aligned() { operator delete(data, std::align_val_t{64}); }
  void* data;
};

void check(DType dtype, const Case& test, const MatrixKernels& kernels) {
  SCOPED_TRACE(testing::Message() << dtype_name(dtype) << " level " << kernels.level << ": " << test.m << " x "
                                  << test.n << " x " << test.k << " layouts " << int(test.a) << int(test.b)
                                  << int(test.c) << " epilogue " << test.epilogue << " packed " << test.packed);
  const int64_t m = test.m, n = test.n, k = test.k;
  const Stored a(dtype, m, k, test.a, 1), b(dtype, k, n, test.b, 2), residual(dtype, m, n, Layout::rows, 3);
  const Stored scale(dtype, 1, n, Layout::rows, 6), shift(dtype, 1, n, Layout::rows, 7);
  const Stored bias(dtype, 1, n, Layout::rows, 4), before(dtype, m, n, test.c, 5);
  Epilogue epilogue;
  if (test.epilogue & 1) epilogue.bias = bias.bytes.data();
  const bool scales = test.epilogue & 32 && (dtype == DType::float32 || dtype == DType::float64);
  if (scales) {
    epilogue.scale = scale.bytes.data();
    epilogue.shift = shift.bytes.data();
  }
  if (test.epilogue & 2) {
    epilogue.residual = residual.bytes.data();
    epilogue.residual_stride = residual.row_stride;
  }
  if (test.epilogue & 4) {
    epilogue.lo = -0.5;
    epilogue.hi = 1.25;
  }
  epilogue.accumulate = test.epilogue & 8;
  if (test.epilogue & 16) epilogue.post = relu_in_place;

  Aligned packed(packed_b_bytes(dtype, k, n, kernels));
  if (test.packed) pack_b(dtype, k, n, b.view(), packed.data, kernels);
  auto compute = [&](int threads) {
    set_num_threads(threads);
    Stored c = before;
    epilogue.post_context = &c;
    if (test.packed) {
      gemm_packed(dtype, m, n, k, a.view(), packed.data, c.view(), epilogue, kernels);
    } else {
      gemm(dtype, m, n, k, a.view(), b.view(), c.view(), epilogue, kernels);
    }
    set_num_threads(1);
    return c;
  };
  const Stored c = compute(1);

  // Rounding of the sum of k products of numbers below 1, and of the result.
  const double unit = dtype == DType::float64 ? 1e-16 : 6e-8;
  const double result_unit = dtype == DType::bfloat16 ? 4e-3 : dtype == DType::float16 ? 5e-4 : unit;
  const std::vector<double> a_values = a.values(), b_values = b.values(true);
  int wrong = 0;
  for (int64_t i = 0; i < m; i++) {
    for (int64_t j = 0; j < n; j++) {
      double expected = epilogue.accumulate ? before.at(i, j) : 0, size = std::abs(expected) + 1;
      for (int64_t p = 0; p < k; p++) {
        const double product = a_values[static_cast<size_t>(i * k + p)] * b_values[static_cast<size_t>(j * k + p)];
        expected += product;
        size += std::abs(product);
      }
      if (epilogue.bias) expected += bias.at(0, j);
      if (scales) expected = expected * scale.at(0, j) + shift.at(0, j);
      if (epilogue.residual) expected += residual.at(i, j);
      if (test.epilogue & 4) expected = std::clamp(expected, -0.5, 1.25);
      if (epilogue.post) expected = std::abs(expected);
      double error = std::abs(c.at(i, j) - expected);
      double allowed = (dtype == DType::float64 ? 20 : 4) * unit * size + 1.01 * result_unit * std::abs(expected) +
                       (dtype == DType::float16 ? 1e-7 : 0);
      if (!(error <= allowed) && wrong++ < 3) {
        ADD_FAILURE() << "[" << i << ", " << j << "] is " << c.at(i, j) << ", expected " << expected;
      }
    }
  }
  EXPECT_EQ(wrong, 0);
  // Nothing outside the matrix is written.
  Stored outside = c, outside_before = before;
  for (int64_t i = 0; i < m; i++) {
    for (int64_t j = 0; j < n; j++) {
      put(dtype, outside.bytes.data(), i * c.row_stride + j * c.column_stride, 0);
      put(dtype, outside_before.bytes.data(), i * c.row_stride + j * c.column_stride, 0);
    }
  }
  EXPECT_EQ(outside.bytes, outside_before.bytes);
  EXPECT_EQ(compute(2).bytes, c.bytes) << "with two threads";
  EXPECT_EQ(compute(5).bytes, c.bytes) << "with five threads";
}

std::vector<int> levels() {
  std::vector<int> result;
  for (int level = 2; level <= cpu_level(); level++) result.push_back(level);
  return result;
}

const DType floats[] = {DType::float32, DType::float64, DType::bfloat16, DType::float16};

TEST(Gemm, RefusesAScaleWithoutAShift) {
  float numbers[4] = {};
  Epilogue epilogue;
  epilogue.scale = numbers;
  const auto multiply = [&](DType dtype) {
    gemm(dtype, 1, 1, 1, {numbers, 1, 1}, {numbers + 1, 1, 1}, {numbers + 2, 1, 1}, epilogue);
  };
  EXPECT_THROW(multiply(DType::float32), Error);
  epilogue.shift = numbers;
  EXPECT_NO_THROW(multiply(DType::float32));
  EXPECT_THROW(multiply(DType::bfloat16), Error);
  EXPECT_THROW(multiply(DType::int32), Error);
}

TEST(Gemm, OddSizes) {
  const int64_t sizes[][3] = {{1, 1, 1},    {1, 1, 0},    {2, 3, 0},     {1, 17, 5},    {3, 2, 70},
                              {7, 31, 1},   {8, 32, 16},  {9, 33, 17},   {16, 16, 16},  {17, 65, 40},
                              {33, 1, 50},  {1, 300, 90}, {2, 257, 129}, {4, 130, 200}, {5, 97, 33},
                              {49, 66, 64}, {65, 65, 65}, {100, 3, 77},  {61, 48, 9},   {12, 100, 300}};
  for (int level : levels()) {
    for (DType dtype : floats) {
      for (auto& [m, n, k] : sizes) {
        for (bool packed : {false, true})
          check(dtype, {.m = m, .n = n, .k = k, .packed = packed}, matrix_kernels(level));
      }
    }
  }
}

TEST(Gemm, Layouts) {
  const Layout layouts[] = {Layout::rows, Layout::columns, Layout::spread};
  const int64_t sizes[][3] = {{1, 70, 40}, {3, 3, 50}, {6, 40, 33}, {35, 2, 41}, {37, 70, 45}, {4, 80, 220}};
  for (int level : levels()) {
    for (DType dtype : floats) {
      for (auto& [m, n, k] : sizes) {
        for (Layout a : layouts) {
          for (Layout b : layouts) {
            for (Layout c : layouts)
              check(dtype, {.m = m, .n = n, .k = k, .a = a, .b = b, .c = c}, matrix_kernels(level));
            check(dtype, {.m = m, .n = n, .k = k, .a = a, .b = b, .packed = true}, matrix_kernels(level));
          }
        }
      }
    }
  }
}

TEST(Gemm, Epilogues) {
  const int64_t sizes[][3] = {{1, 70, 40}, {33, 2, 41}, {37, 70, 45}, {4, 80, 220}, {10, 40, 21}};
  for (int level : levels()) {
    for (DType dtype : floats) {
      for (auto& [m, n, k] : sizes) {
        for (int epilogue = 1; epilogue < 64; epilogue += dtype == DType::float32 ? 1 : 6) {
          check(dtype, {.m = m, .n = n, .k = k, .epilogue = epilogue}, matrix_kernels(level));
          check(dtype, {.m = m, .n = n, .k = k, .epilogue = epilogue, .packed = true}, matrix_kernels(level));
        }
        check(dtype, {.m = m, .n = n, .k = k, .b = Layout::columns, .epilogue = 63}, matrix_kernels(level));
        check(dtype, {.m = m, .n = n, .k = k, .c = Layout::columns, .epilogue = 63}, matrix_kernels(level));
        check(dtype, {.m = m, .n = n, .k = k, .c = Layout::columns, .epilogue = 12}, matrix_kernels(level));
        check(dtype, {.m = m, .n = n, .k = k, .c = Layout::spread, .epilogue = 63}, matrix_kernels(level));
      }
    }
  }
}

TEST(Gemm, SeveralBlocks) {
  for (int level : levels()) {
    for (DType dtype : floats) {
      for (int epilogue : {0, 31, 63}) {
        const bool packed = epilogue != 0;
        check(dtype, {.m = 20, .n = 70, .k = 1700, .epilogue = epilogue, .packed = packed}, matrix_kernels(level));
        check(dtype, {.m = 9, .n = 600, .k = 300, .epilogue = epilogue, .packed = packed}, matrix_kernels(level));
      }
      check(dtype, {.m = 1100, .n = 35, .k = 40, .epilogue = 1}, matrix_kernels(level));
      check(dtype, {.m = 24, .n = 140, .k = 512 - 3}, matrix_kernels(level));  // rows of a that collide in the cache
    }
  }
}

// Panels that were packed beforehand meet groups of rows, one after the other: several groups, blocks along k, blocks
// of columns, rows that lie one behind the other and such that collide in the cache.
TEST(Gemm, PackedPanelsMeetGroupsOfRows) {
  for (int level : levels()) {
    for (DType dtype : floats) {
      for (int epilogue : {0, 63}) {
        check(dtype, {.m = 345, .n = 70, .k = 800, .epilogue = epilogue, .packed = true}, matrix_kernels(level));
        check(dtype, {.m = 180, .n = 50, .k = 2048 - 3, .epilogue = epilogue, .packed = true}, matrix_kernels(level));
        check(dtype, {.m = 40, .n = 1700, .k = 20, .epilogue = epilogue, .packed = true}, matrix_kernels(level));
      }
      check(dtype, {.m = 30, .n = 40, .k = 0, .epilogue = 1, .packed = true}, matrix_kernels(level));
    }
  }
}

TEST(Gemm, FewRowsOrColumnsOverThreads) {
  for (int level : levels()) {
    for (DType dtype : floats) {
      for (int epilogue : {0, 31, 63}) {
        check(dtype, {.m = 3, .n = 701, .k = 400, .b = Layout::columns, .epilogue = epilogue}, matrix_kernels(level));
        check(dtype, {.m = 903, .n = 3, .k = 300, .epilogue = epilogue}, matrix_kernels(level));
        check(dtype, {.m = 4, .n = 910, .k = 203, .epilogue = epilogue}, matrix_kernels(level));
        check(dtype, {.m = 14, .n = 430, .k = 101, .epilogue = epilogue}, matrix_kernels(level));
      }
      check(dtype, {.m = 700, .n = 1, .k = 800, .a = Layout::columns}, matrix_kernels(level));
    }
  }
}

TEST(Gemm, NanAndInfinityStayInTheirRowAndColumn) {
  for (int level : levels()) {
    for (int64_t m : {1, 2, 8, 40}) {
      for (Layout layout : {Layout::rows, Layout::columns}) {
        const int64_t n = 90, k = 203;
        Stored a(DType::float32, m, k, Layout::rows, 1), b(DType::float32, k, n, layout, 2);
        Stored c(DType::float32, m, n, Layout::rows, 3);
        put(DType::float32, b.bytes.data(), 201 * b.row_stride + 5 * b.column_stride, INFINITY);
        put(DType::float32, b.bytes.data(), 7 * b.row_stride + 88 * b.column_stride, NAN);
        Epilogue epilogue;
        epilogue.lo = 0;
        gemm(DType::float32, m, n, k, a.view(), b.view(), c.view(), epilogue, matrix_kernels(level));
        for (int64_t i = 0; i < m; i++) {
          for (int64_t j = 0; j < n; j++) {
            if (j == 88) {
              EXPECT_TRUE(std::isnan(c.at(i, j)));
            } else if (j != 5) {
              EXPECT_TRUE(std::isfinite(c.at(i, j)));
            }
          }
        }
      }
    }
  }
}

// Few rows over many columns are summed in blocks of columns: 0 * infinity, which fills the last vector of a block
// up, has to stay out of the next row's sums.
TEST(Gemm, InfinityStaysInItsRowBesideBlocksOfColumns) {
  for (int level : levels()) {
    for (DType dtype : {DType::float32, DType::float64}) {
      for (int64_t m : {1, 2, 3, 4}) {
        const int64_t n = 1100, k = 203;
        Stored a(dtype, m, k, Layout::rows, 1), b(dtype, k, n, Layout::rows, 2), c(dtype, m, n, Layout::rows, 3);
        put(dtype, a.bytes.data(), 7 * a.column_stride, INFINITY);  // in row 0
        gemm(dtype, m, n, k, a.view(), b.view(), c.view(), {}, matrix_kernels(level));
        for (int64_t i = 1; i < m; i++) {
          for (int64_t j = 0; j < n; j++) ASSERT_TRUE(std::isfinite(c.at(i, j))) << level << ' ' << i << ' ' << j;
        }
      }
    }
  }
}

// What plans rely on where a residual dies: results in its place are those beside it.
TEST(Gemm, OverwritesResiduals) {
  int overwritten = 0;
  for (int level : levels()) {
    for (DType dtype : {DType::float32, DType::float64}) {
      for (int64_t m : {5, 17, 333}) {
        for (int64_t n : {16, 65, 256}) {
          for (int64_t k : {64, 512, 513, 1200}) {
            if (!may_overwrite_residual(dtype, m, n, k)) {
              EXPECT_GT(k, 512) << m << " " << n;
              continue;
            }
            ++overwritten;
            const MatrixKernels& kernels = matrix_kernels(level);
            const Stored a(dtype, m, k, Layout::rows, 1), b(dtype, k, n, Layout::rows, 2),
                bias(dtype, 1, n, Layout::rows, 4);
            const Stored residual(dtype, m, n, Layout::rows, 3);
            std::vector<char> memory(packed_b_bytes(dtype, k, n, kernels) + 64);
            auto* packed = reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(memory.data()) + 63) & ~uintptr_t{63});
            pack_b(dtype, k, n, b.view(), packed, kernels);
            for (int threads : {1, 2}) {
              set_num_threads(threads);
              Stored beside = residual, in_place = residual;
              Epilogue epilogue{.bias = bias.bytes.data(),
                                .residual = residual.bytes.data(),
                                .residual_stride = residual.row_stride,
                                .lo = 0};
              gemm_packed(dtype, m, n, k, a.view(), packed, beside.view(), epilogue, kernels);
              epilogue.residual = in_place.bytes.data();
              gemm_packed(dtype, m, n, k, a.view(), packed, in_place.view(), epilogue, kernels);
              EXPECT_EQ(beside.bytes, in_place.bytes) << m << " " << n << " " << k;
            }
          }
        }
      }
    }
  }
  set_num_threads(1);
  EXPECT_GT(overwritten, 0);
}

TEST(Gemm, Batched) {
  const int64_t sizes[][4] = {{1000, 4, 4, 4}, {3, 20, 30, 40}, {12, 1, 128, 64}, {2, 130, 130, 130}, {0, 3, 3, 3}};
  for (int level : levels()) {
    for (DType dtype : floats) {
      for (auto& [batch, m, n, k] : sizes) {
        for (bool shared_b : {false, true}) {
          for (int threads : {1, 2}) {
            set_num_threads(threads);
            Stored a(dtype, batch * m, k, Layout::rows, 1), b(dtype, (shared_b ? 1 : batch) * k, n, Layout::rows, 2);
            Stored c(dtype, batch * m, n, Layout::rows, 3), expected = c, residual = c,
                                                            bias(dtype, 1, n, Layout::rows, 4);
            Epilogue epilogue{
                .bias = bias.bytes.data(), .residual = residual.bytes.data(), .residual_stride = residual.row_stride};
            BatchStrides strides{m * a.row_stride, shared_b ? 0 : k * b.row_stride, m * c.row_stride,
                                 m * residual.row_stride};
            gemm_batched(dtype, batch, m, n, k, a.view(), b.view(), c.view(), strides, epilogue, matrix_kernels(level));
            for (int64_t i = 0; i < batch; i++) {
              const size_t item = item_size(dtype);
              auto at = [&](auto& x, int64_t stride) {
                return x.bytes.data() + static_cast<size_t>(i * stride) * item;
              };
              epilogue.residual = at(residual, strides.residual);
              gemm(dtype, m, n, k, {at(a, strides.a), a.row_stride, 1}, {at(b, strides.b), b.row_stride, 1},
                   {at(expected, strides.c), c.row_stride, 1}, epilogue, matrix_kernels(level));
            }
            if (!shared_b) {
              EXPECT_EQ(c.bytes, expected.bytes);
              continue;
            }
            for (int64_t i = 0; i < batch * m; i++) {
              for (int64_t j = 0; j < n; j++) EXPECT_NEAR(c.at(i, j), expected.at(i, j), 0.1) << i << " " << j;
            }
          }
        }
      }
    }
  }
  set_num_threads(1);
}

template <class T>
void check_exact(DType dtype, int64_t m, int64_t n, int64_t k) {
  std::mt19937_64 random(7);
  auto fill = [&](int64_t count) {
    std::vector<T> values(static_cast<size_t>(count));
    for (T& value : values) {
      if constexpr (std::is_integral_v<T>) {
        value = static_cast<T>(random());
      } else {
        value = T(static_cast<double>(random() % 17) - 8, static_cast<double>(random() % 17) - 8);
      }
    }
    return values;
  };
  std::vector<T> a = fill(m * k), b = fill(k * n), bias = fill(n), c = fill(m * n), expected = c, start = c;
  for (int64_t i = 0; i < m; i++) {
    for (int64_t j = 0; j < n; j++) {
      T& sum = expected[static_cast<size_t>(i * n + j)];
      for (int64_t p = 0; p < k; p++) {
        T x = a[static_cast<size_t>(p * m + i)], y = b[static_cast<size_t>(p * n + j)];
        if constexpr (std::is_integral_v<T>) {
          sum = static_cast<T>(static_cast<uint64_t>(sum) + static_cast<uint64_t>(x) * static_cast<uint64_t>(y));
        } else {
          sum += x * y;
        }
      }
      if constexpr (std::is_integral_v<T>) {
        sum = static_cast<T>(static_cast<uint64_t>(sum) + static_cast<uint64_t>(bias[static_cast<size_t>(j)]));
      } else {
        sum += bias[static_cast<size_t>(j)];
      }
    }
  }
  for (int threads : {1, 2}) {
    set_num_threads(threads);
    c = start;
    gemm(dtype, m, n, k, {a.data(), 1, m}, {b.data(), n, 1}, {c.data(), n, 1},
         {.bias = bias.data(), .accumulate = true});
    EXPECT_EQ(c, expected) << dtype_name(dtype);
  }
  set_num_threads(1);
}

TEST(Gemm, IntegersWrapAndComplexNumbersMultiply) {
  for (auto [m, n, k] : {std::array<int64_t, 3>{1, 1, 1}, {5, 40, 300}, {70, 33, 20}, {4, 3, 0}}) {
    check_exact<uint8_t>(DType::uint8, m, n, k);
    check_exact<int8_t>(DType::int8, m, n, k);
    check_exact<int16_t>(DType::int16, m, n, k);
    check_exact<int32_t>(DType::int32, m, n, k);
    check_exact<int64_t>(DType::int64, m, n, k);
    check_exact<std::complex<float>>(DType::complex64, m, n, k);
    check_exact<std::complex<double>>(DType::complex128, m, n, k);
  }
}

// Small integers, so that sums are exact whatever their order.
TEST(Gemm, BiasOfRowsOnEveryPath) {
  for (int level = 2; level <= cpu_level(); level++) {
    for (auto [m, n, k] : {std::array<int64_t, 3>{1, 1, 1},
                           {3, 70, 300},
                           {40, 3, 40},
                           {20, 50, 9},
                           {70, 300, 700},
                           {16, 16, 16},
                           {5, 33, 64}}) {
      for (bool by_columns : {false, true}) {
        std::vector<float> a(static_cast<size_t>(m * k)), b(static_cast<size_t>(k * n)), bias(static_cast<size_t>(m));
        for (size_t i = 0; i < a.size(); i++) a[i] = static_cast<float>(i % 5) - 2;
        for (size_t i = 0; i < b.size(); i++) b[i] = static_cast<float>(i % 7) - 3;
        for (size_t i = 0; i < bias.size(); i++) bias[i] = static_cast<float>(i);
        const ConstMatrix right{b.data(), by_columns ? 1 : n, by_columns ? k : 1};
        std::vector<float> plain(static_cast<size_t>(m * n)), biased(plain.size());
        const MatrixKernels& kernels = matrix_kernels(level);
        gemm(DType::float32, m, n, k, {a.data(), k, 1}, right, {plain.data(), n, 1}, {}, kernels);
        Epilogue epilogue;
        epilogue.row_bias = bias.data();
        gemm(DType::float32, m, n, k, {a.data(), k, 1}, right, {biased.data(), n, 1}, epilogue, kernels);
        for (size_t i = 0; i < plain.size(); i++) plain[i] += bias[i / static_cast<size_t>(n)];
        EXPECT_EQ(biased, plain) << "level " << level << ", " << m << " x " << n << " x " << k << ", b by columns "
                                 << by_columns;
      }
    }
  }
}

TEST(Gemm, RefusesWhatItCannotDo) {
  float x[4] = {};
  EXPECT_THROW(gemm(DType::int32, 1, 1, 1, {x, 1, 1}, {x, 1, 1}, {x, 1, 1}, {.row_bias = x}), Error);
  EXPECT_THROW(gemm(DType::bool_, 1, 1, 1, {x, 1, 1}, {x, 1, 1}, {x, 1, 1}), Error);
  EXPECT_THROW(gemm(DType::float32, -1, 1, 1, {x, 1, 1}, {x, 1, 1}, {x, 1, 1}), Error);
  EXPECT_THROW(gemm(DType::int32, 1, 1, 1, {x, 1, 1}, {x, 1, 1}, {x, 1, 1}, {.lo = 0}), Error);
  EXPECT_THROW(packed_b_bytes(DType::int64, 1, 1), Error);
  EXPECT_THROW(pack_b(DType::complex64, 1, 1, {x, 1, 1}, x), Error);
  EXPECT_THROW(gemm_packed(DType::float32, 1, 1, 1, {x, 1, 1}, nullptr, {x, 1, 1}), Error);
  EXPECT_THROW(matrix_kernels(1), Error);
}

}  // namespace
}  // namespace sconce
