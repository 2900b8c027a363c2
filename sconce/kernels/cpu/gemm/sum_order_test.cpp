// Note [Order of sums]: which bits a product has, computed here number by number, and that nothing changes them but m,
// n and k.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "sconce/base/error.h"
#include "sconce/base/parallel.h"
#include "sconce/kernels/cpu/engine/cpu_level.h"
#include "sconce/kernels/cpu/gemm/gemm.h"
#include "sconce/tensor/half.h"

namespace sconce {
namespace {

using Bytes = std::vector<char>;

void put(DType dtype, char* data, int64_t index, double value) {
  if (dtype == DType::float32) {
    reinterpret_cast<float*>(data)[index] = static_cast<float>(value);
  } else if (dtype == DType::float64) {
    reinterpret_cast<double*>(data)[index] = value;
  } else if (dtype == DType::bfloat16) {
    reinterpret_cast<BFloat16*>(data)[index] = to_bfloat16(static_cast<float>(value));
  } else {
    reinterpret_cast<Half*>(data)[index] = to_half(static_cast<float>(value));
  }
}

// Sums of such numbers have rounding errors that differ from order to order.
double some_number(std::mt19937& random) { return std::ldexp(random() % 2000001 / 1e6 - 1, random() % 7); }

Bytes numbers(DType dtype, int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  Bytes out(static_cast<size_t>(count) * item_size(dtype) + 64);
  for (int64_t i = 0; i < count; i++) put(dtype, out.data(), i, some_number(random));
  return out;
}

// The same matrix in another place: dense along rows or columns, or neither.
enum class Layout { rows, columns, spread };
struct Placed {
  Bytes bytes;
  int64_t row_stride, column_stride;
  ConstMatrix view() const { return {bytes.data(), row_stride, column_stride}; }
  Matrix view() { return {bytes.data(), row_stride, column_stride}; }
};
Placed place(DType dtype, const Bytes& dense, int64_t rows, int64_t columns, Layout layout) {
  Placed out{{},
             layout == Layout::rows      ? columns + 3
             : layout == Layout::columns ? 1
                                         : 2 * columns + 1,
             layout == Layout::rows      ? 1
             : layout == Layout::columns ? rows + 2
                                         : 2};
  const size_t item = item_size(dtype);
  out.bytes.resize(static_cast<size_t>(rows * columns * 2 + 4 * (rows + columns) + 8) * item);
  for (int64_t i = 0; i < rows * columns; i++) {
    const int64_t at = i / columns * out.row_stride + i % columns * out.column_stride;
    std::memcpy(out.bytes.data() + static_cast<size_t>(at) * item, dense.data() + static_cast<size_t>(i) * item, item);
  }
  return out;
}
Bytes dense(DType dtype, const Placed& from, int64_t rows, int64_t columns) {
  const size_t item = item_size(dtype);
  Bytes out(static_cast<size_t>(rows * columns) * item);
  for (int64_t i = 0; i < rows * columns; i++) {
    const int64_t at = i / columns * from.row_stride + i % columns * from.column_stride;
    std::memcpy(out.data() + static_cast<size_t>(i) * item, from.bytes.data() + static_cast<size_t>(at) * item, item);
  }
  return out;
}
Bytes transposed(DType dtype, const Bytes& from, int64_t rows, int64_t columns) {
  return dense(dtype, {from, 1, columns}, columns, rows);
}

struct Aligned {
  explicit Aligned(size_t bytes) : data(operator new(bytes + 64, std::align_val_t{64})) {}
  ~Aligned() { operator delete(data, std::align_val_t{64}); }
  void* data;
};

std::vector<int> levels() {
  std::vector<int> result;
  for (int level = 2; level <= cpu_level(); level++) result.push_back(level);
  return result;
}

void halve(void*, void* block, int64_t row_stride, int64_t column_stride, int64_t, int64_t, int64_t rows,
           int64_t columns) {
  for (int64_t i = 0; i < rows; i++) {
    for (int64_t j = 0; j < columns; j++) static_cast<float*>(block)[i * row_stride + j * column_stride] *= 0.5f;
  }
}

struct Sizes {
  int64_t m, n, k;
};

struct Product {
  DType dtype;
  Sizes sizes;
  const MatrixKernels& kernels;
  int epilogue;  // bits: 1 bias, 2 residual, 4 clamp, 8 accumulate, 16 post
  Bytes a, b, before, bias, residual;

  Product(DType type, Sizes s, int bits, const MatrixKernels& with)
      : dtype(type),
        sizes(s),
        kernels(with),
        epilogue(type == DType::float32 ? bits : bits & 15),
        a(numbers(type, s.m * s.k, 1)),
        b(numbers(type, s.k * s.n, 2)),
        before(numbers(type, s.m * s.n, 3)),
        bias(numbers(type, s.n, 4)),
        residual(numbers(type, s.m * s.n, 5)) {}

  Epilogue make_epilogue() const {
    Epilogue e;
    if (epilogue & 1) e.bias = bias.data();
    if (epilogue & 2) {
      e.residual = residual.data();
      e.residual_stride = sizes.n;
    }
    if (epilogue & 4) {
      e.lo = -20;
      e.hi = 30;
    }
    e.accumulate = epilogue & 8;
    if (epilogue & 16) e.post = halve;
    return e;
  }

  Bytes multiply(Layout a_layout, Layout b_layout, Layout c_layout, bool packed = false) const {
    const auto& [m, n, k] = sizes;
    const Placed x = place(dtype, a, m, k, a_layout), y = place(dtype, b, k, n, b_layout);
    Placed c = place(dtype, before, m, n, c_layout);
    if (packed) {
      Aligned room(packed_b_bytes(dtype, k, n, kernels));
      pack_b(dtype, k, n, y.view(), room.data, kernels);
      gemm_packed(dtype, m, n, k, x.view(), room.data, c.view(), make_epilogue(), kernels);
    } else {
      gemm(dtype, m, n, k, x.view(), y.view(), c.view(), make_epilogue(), kernels);
    }
    return dense(dtype, c, m, n);
  }

  // The same rows, `step` of them at a time.
  Bytes in_parts(int64_t step, bool packed) const {
    const auto& [m, n, k] = sizes;
    const auto item = static_cast<int64_t>(item_size(dtype));
    Bytes c = before;
    Aligned room(packed_b_bytes(dtype, k, n, kernels));
    pack_b(dtype, k, n, {b.data(), n, 1}, room.data, kernels);
    for (int64_t i = 0; i < m; i += step) {
      const int64_t rows = std::min(step, m - i);
      Epilogue e = make_epilogue();
      if (e.residual) e.residual = residual.data() + i * n * item;
      const ConstMatrix x{a.data() + i * k * item, k, 1};
      const Matrix out{c.data() + i * n * item, n, 1};
      if (packed) {
        gemm_packed(dtype, rows, n, k, x, room.data, out, e, kernels, sum_order(m, n, k));
      } else {
        gemm(dtype, rows, n, k, x, {b.data(), n, 1}, out, e, kernels, sum_order(m, n, k));
      }
    }
    c.resize(static_cast<size_t>(m * n * item));
    return c;
  }
};

int64_t differences(DType dtype, const Bytes& one, const Bytes& other) {
  EXPECT_EQ(one.size(), other.size());
  const size_t item = item_size(dtype);
  int64_t count = 0;
  for (size_t i = 0; i < one.size(); i += item) count += std::memcmp(&one[i], &other[i], item) != 0;
  return count;
}

void check_product(DType dtype, Sizes sizes, int epilogue, const MatrixKernels& kernels) {
  SCOPED_TRACE(testing::Message() << dtype_name(dtype) << " level " << kernels.level << ": " << sizes.m << " x "
                                  << sizes.n << " x " << sizes.k << " epilogue " << epilogue);
  const Product product(dtype, sizes, epilogue, kernels);
  const Bytes expected = product.multiply(Layout::rows, Layout::rows, Layout::rows);
  const auto check = [&](const Bytes& got, const char* how) {
    EXPECT_EQ(differences(dtype, got, expected), 0) << how << ", of " << sizes.m * sizes.n;
  };
  const Layout layouts[] = {Layout::rows, Layout::columns, Layout::spread};
  for (Layout a : layouts) {
    for (Layout b : layouts) {
      const std::string at = " a " + std::to_string(int(a)) + " b " + std::to_string(int(b));
      check(product.multiply(a, b, Layout::rows), ("unpacked" + at).c_str());
      check(product.multiply(a, b, Layout::columns), ("unpacked, c by columns" + at).c_str());
    }
    check(product.multiply(a, Layout::rows, Layout::spread, true), "packed, c spread");
    check(product.multiply(a, Layout::columns, Layout::rows, true), "packed");
  }
  for (int64_t step : {1, 3, 7}) {
    check(product.in_parts(step, true), "packed, in parts");
    check(product.in_parts(step, false), "unpacked, in parts");
  }
  set_num_threads(3);
  check(product.multiply(Layout::rows, Layout::columns, Layout::rows), "three threads");
  check(product.multiply(Layout::rows, Layout::columns, Layout::rows, true), "packed, three threads");
  set_num_threads(1);
  if (epilogue & 3) return;
  // c transposed is b transposed times a transposed.
  Product turned(dtype, {sizes.n, sizes.m, sizes.k}, epilogue, kernels);
  turned.a = transposed(dtype, product.b, sizes.k, sizes.n);
  turned.b = transposed(dtype, product.a, sizes.m, sizes.k);
  turned.before = transposed(dtype, product.before, sizes.m, sizes.n);
  check(transposed(dtype, turned.multiply(Layout::rows, Layout::rows, Layout::rows), sizes.n, sizes.m), "transposed");
  check(transposed(dtype, turned.multiply(Layout::rows, Layout::rows, Layout::rows, true), sizes.n, sizes.m),
        "transposed, packed");
}

const DType floats[] = {DType::float32, DType::float64, DType::bfloat16, DType::float16};

TEST(SumOrder, BitsDependOnSizesAlone) {
  std::mt19937 random(5);
  const auto size = [&](int64_t most) {
    return random() % 3 ? 1 + static_cast<int64_t>(random() % 9) : 1 + static_cast<int64_t>(random() % most);
  };
  for (int level : levels()) {
    for (DType dtype : floats) {
      for (int round = 0; round < 40; round++) {
        const int64_t k = round % 4 == 0 ? 1 + random() % 20 : 1 + random() % 300;
        check_product(dtype, {size(60), size(150), k}, static_cast<int>(random() % 32), matrix_kernels(level));
      }
      for (const Sizes& s : {Sizes{1, 64, 64},
                             {8, 64, 64},
                             {3, 300, 700},
                             {300, 3, 700},
                             {5, 70, 1700},
                             {13, 33, 520},
                             {1, 1, 1000},
                             {1, 1100, 40},
                             {50, 1, 33},
                             {7, 16, 16},
                             {4, 17, 16},
                             {5, 5, 15}}) {
        check_product(dtype, s, 0, matrix_kernels(level));
        check_product(dtype, s, 15, matrix_kernels(level));
      }
    }
  }
}

TEST(SumOrder, ItemsOfABatchHaveTheBitsOfAProduct) {
  std::mt19937 random(9);
  for (int level : levels()) {
    const MatrixKernels& kernels = matrix_kernels(level);
    for (DType dtype : floats) {
      const auto item = static_cast<int64_t>(item_size(dtype));
      for (int round = 0; round < 30; round++) {
        const int64_t batch = 1 + random() % 5, m = 1 + random() % 12, n = 1 + random() % 40, k = 1 + random() % 90;
        for (bool shared : {false, true}) {
          const Bytes a = numbers(dtype, batch * m * k, 1), b = numbers(dtype, (shared ? 1 : batch) * k * n, 2);
          Bytes c = numbers(dtype, batch * m * n, 3), expected = c;
          const bool by_columns = round % 2;
          const int64_t b_row = by_columns ? 1 : n, b_column = by_columns ? k : 1, step = shared ? 0 : k * n;
          gemm_batched(dtype, batch, m, n, k, {a.data(), k, 1}, {b.data(), b_row, b_column}, {c.data(), n, 1},
                       {m * k, step, m * n}, {}, kernels);
          for (int64_t i = 0; i < batch; i++) {
            Aligned room(packed_b_bytes(dtype, k, n, kernels));
            pack_b(dtype, k, n, {b.data() + i * step * item, b_row, b_column}, room.data, kernels);
            gemm_packed(dtype, m, n, k, {a.data() + i * m * k * item, k, 1}, room.data,
                        {expected.data() + i * m * n * item, n, 1}, {}, kernels);
          }
          EXPECT_EQ(c, expected) << dtype_name(dtype) << " level " << level << ": " << batch << " of " << m << " x "
                                 << n << " x " << k << (shared ? ", shared b" : "");
        }
      }
    }
  }
}

// Of a level's vectors (engine/levels.h).
int64_t vector_bytes([[maybe_unused]] int level) {
#if defined(__aarch64__)
  return 16;
#else
  return int64_t{8} << (level - 1);
#endif
}

// One multiplication and one addition, as the instruction sets do them.
template <class T>
T multiply_add(T a, T b, T c, int level) {
  if (level > 2) return std::fma(a, b, c);
  volatile T product = a * b;
  return product + c;
}

template <class T>
T expected_sum(const T* a, const T* b, Sizes s, int64_t i, int64_t j, int level) {
  const auto product = [&](int64_t p, T c) { return multiply_add(a[i * s.k + p], b[p * s.n + j], c, level); };
  if (sum_order(s.m, s.n, s.k) == SumOrder::in_sequence) {
    T sum = 0;
    for (int64_t p = 0; p < s.k; p++) sum = product(p, sum);
    return sum;
  }
  const int64_t lanes = vector_bytes(level) / static_cast<int64_t>(sizeof(T));
  const int64_t quad = 16 / static_cast<int64_t>(sizeof(T));
  std::vector<T> sums(static_cast<size_t>(lanes));
  for (int64_t p = 0; p < s.k; p++)
    sums[static_cast<size_t>(p % lanes)] = product(p, sums[static_cast<size_t>(p % lanes)]);
  const auto add = [&](int64_t to, int64_t from) { sums[static_cast<size_t>(to)] += sums[static_cast<size_t>(from)]; };
  for (int64_t first = 0; first < lanes; first += quad) {
    for (int64_t l = first; l < first + quad; l += 2) add(l, l + 1);
    if (quad == 4) add(first, first + 2);
  }
  for (int64_t half = lanes / 2; half >= quad; half /= 2) {
    for (int64_t l = 0; l < half; l += quad) add(l, l + half);
  }
  return sums[0];
}

template <class T>
void check_order(DType dtype, Sizes s, int level) {
  const Bytes a = numbers(dtype, s.m * s.k, 1), b = numbers(dtype, s.k * s.n, 2);
  std::vector<T> c(static_cast<size_t>(s.m * s.n));
  gemm(dtype, s.m, s.n, s.k, {a.data(), s.k, 1}, {b.data(), s.n, 1}, {c.data(), s.n, 1}, {}, matrix_kernels(level));
  for (int64_t i = 0; i < s.m; i++) {
    for (int64_t j = 0; j < s.n; j++) {
      const auto *x = reinterpret_cast<const T*>(a.data()), *y = reinterpret_cast<const T*>(b.data());
      ASSERT_EQ(c[static_cast<size_t>(i * s.n + j)], expected_sum(x, y, s, i, j, level))
          << "level " << level << ": " << s.m << " x " << s.n << " x " << s.k << " at " << i << ", " << j;
    }
  }
}

TEST(SumOrder, IsTheOneThatIsWritten) {
  EXPECT_EQ(sum_order(4, 100, 16), SumOrder::by_lanes);
  EXPECT_EQ(sum_order(100, 4, 16), SumOrder::by_lanes);
  EXPECT_EQ(sum_order(5, 5, 1000), SumOrder::in_sequence);
  EXPECT_EQ(sum_order(1, 1, 15), SumOrder::in_sequence);
  for (int level : levels()) {
    for (const Sizes& s : {Sizes{1, 1, 100}, {3, 50, 77}, {30, 2, 64}, {7, 40, 300}, {20, 33, 1100}, {2, 9, 13}}) {
      check_order<float>(DType::float32, s, level);
      check_order<double>(DType::float64, s, level);
    }
  }
}

TEST(SumOrder, ByLanesIsForFewRowsOrColumns) {
  float x[100] = {};
  EXPECT_THROW(
      gemm(DType::float32, 5, 5, 20, {x, 20, 1}, {x, 5, 1}, {x, 5, 1}, {}, matrix_kernels(), SumOrder::by_lanes),
      Error);
}

}  // namespace
}  // namespace sconce
