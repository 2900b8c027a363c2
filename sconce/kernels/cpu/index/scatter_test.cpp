// Long rows of indices, which are checked a block at a time, and scattering and searching that threads share.
#include <gtest/gtest.h>

#include "sconce/base/parallel.h"
#include "sconce/ops.h"
#include "sconce/testing/error_of.h"

namespace sconce {
namespace {

TEST(Gather, refuses_an_index_anywhere_in_a_row) {
  const Tensor x = randn(Dims({2, 50}), DType::float32);
  for (const int64_t at : {0, 31, 32, 63, 69}) {
    for (const int64_t wrong : {int64_t{-1}, int64_t{50}, INT64_MIN, INT64_MAX}) {
      const Tensor index = zeros(Dims({2, 70}), DType::int64);
      index.data<int64_t>()[70 + at] = wrong;
      EXPECT_ERROR(gather(x, 1, index), "is out of bounds for dimension 1 with size 50");
    }
  }
  EXPECT_ERROR(gather(zeros(Dims({2, 0}), DType::float32), 1, zeros(Dims({2, 70}), DType::int64)), "out of bounds");
}

TEST(Scatter, threads_change_nothing) {
  const Tensor self = randn(Dims({40, 333}), DType::float32), src = randn(Dims({500, 333}), DType::float32);
  const Tensor index = randint(40, Dims({500, 333}), DType::int64), mask = gt(src, 0);
  const int before = num_threads();
  set_num_threads(1);
  const Tensor sums = scatter_add(self, 0, index, src), places = nonzero(mask);
  set_num_threads(3);
  const Tensor shared_sums = scatter_add(self, 0, index, src), shared_places = nonzero(mask);
  set_num_threads(before);
  EXPECT_TRUE(equal(sums, shared_sums));
  EXPECT_TRUE(equal(places, shared_places));
}

}  // namespace
}  // namespace sconce
