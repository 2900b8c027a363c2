#include "sconce/kernels/cpu/order/ordering.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "sconce/base/error.h"
#include "sconce/base/parallel.h"

namespace sconce::cpu {
namespace {

template <class T>
bool before(T a, T b) {
  return b != b ? a == a : a < b;
}

template <class T>
void expect_sorted(const std::vector<T>& line, DType dtype) {
  const auto n = static_cast<int64_t>(line.size());
  for (bool descending : {false, true}) {
    std::vector<int64_t> want(line.size());
    for (size_t i = 0; i < want.size(); ++i) want[i] = static_cast<int64_t>(i);
    std::stable_sort(want.begin(), want.end(), [&](int64_t a, int64_t b) {
      return descending ? before(line[b], line[a]) : before(line[a], line[b]);
    });
    std::vector<T> values(line.size());
    std::vector<int64_t> indices(line.size());
    sort_line(line.data(), dtype, n, descending, values.data(), indices.data());
    ASSERT_EQ(indices, want) << n << " elements, descending " << descending;
    for (size_t i = 0; i < want.size(); ++i) {
      const T x = line[static_cast<size_t>(want[i])];
      ASSERT_TRUE(values[i] == x || (values[i] != values[i] && x != x));
      ASSERT_EQ(std::signbit(static_cast<double>(values[i])), std::signbit(static_cast<double>(x)));
    }
  }
}

// Around the sizes where the method changes, with few and with many different values.
TEST(Ordering, SortsStably) {
  std::mt19937_64 random(7);
  for (int threads : {1, 3}) {
    set_num_threads(threads);
    for (int64_t n : {1, 2, 15, 16, 17, 33, 223, 224, 225, 1000, 70000}) {
      for (uint64_t range : {uint64_t{3}, uint64_t{1000}, uint64_t{1} << 33, uint64_t{1} << 63}) {
        std::vector<int64_t> ints;
        std::vector<float> floats;
        std::vector<double> doubles;
        for (int64_t i = 0; i < n; ++i) {
          ints.push_back(static_cast<int64_t>(random() % range) - static_cast<int64_t>(range / 2));
          floats.push_back(static_cast<float>(ints.back()));
          doubles.push_back(static_cast<double>(ints.back()) / 3);
        }
        expect_sorted(ints, DType::int64);
        expect_sorted(floats, DType::float32);
        expect_sorted(doubles, DType::float64);
      }
    }
  }
  set_num_threads(1);
}

TEST(Ordering, NanIsLargestAndZerosAreEqual) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  expect_sorted<float>({nan, 0.0f, -0.0f, -nan, inf, -inf, 0.0f, -1.0f, -0.0f}, DType::float32);
  expect_sorted<double>({nan, 0.0, -0.0, -nan, inf, -inf, 0.0, 5e-324, -0.0}, DType::float64);
}

// Long runs that the leading 32 bits do not tell apart.
TEST(Ordering, SortsByTheLowBitsToo) {
  std::mt19937_64 random(3);
  std::vector<int64_t> line;
  for (int i = 0; i < 3000; ++i)
    line.push_back(static_cast<int64_t>((random() % 2) << 62 | (random() % 3) << 33 | random() % 500));
  expect_sorted(line, DType::int64);
}

TEST(Ordering, RefusesComplexNumbers) {
  Scratch scratch;
  const float line[4] = {};
  EXPECT_THROW(order_line(line, DType::complex64, 2, false, scratch), Error);
}

}  // namespace
}  // namespace sconce::cpu
