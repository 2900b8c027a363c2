#include <gtest/gtest.h>

#include <complex>

#include "sconce/ops.h"
#include "sconce/testing/error_of.h"

namespace sconce {
namespace {

const int64_t* integers(const Tensor& t) { return t.data<int64_t>(); }

// A row that occurs twice gets both gradients; the scale 1/2 is 0 among integers, as in PyTorch.
TEST(Embedding, GradientsOfIntegersAdd) {
  const Tensor index = remainder(arange(3), 2);
  const Tensor grad = full({3, 1}, 5, DType::int64);
  const Tensor sum = embedding_dense_backward(grad, index, 2, -1, false);
  EXPECT_EQ(integers(sum)[0], 10);
  EXPECT_EQ(integers(sum)[1], 5);
  const Tensor scaled = embedding_dense_backward(grad, index, 2, -1, true);
  EXPECT_EQ(integers(scaled)[0], 0);
  EXPECT_EQ(integers(scaled)[1], 5);
}

TEST(Embedding, RenormOfComplexRows) {
  const Tensor table = full({1, 1}, Scalar(std::complex<double>(3, 4)), DType::complex64);
  embedding_renorm_(table, zeros({1}, DType::int64), 1, 2);
  EXPECT_NEAR(std::abs(*table.data<std::complex<float>>()), 1, 1e-6);
  EXPECT_ERROR(embedding_renorm_(zeros({1, 1}, DType::int64), zeros({1}, DType::int64), 1, 2), "Got Long instead");
}

}  // namespace
}  // namespace sconce
