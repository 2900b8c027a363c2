// Decomposed kernels, on the CPU, whose own kernels say what is right.
#include "sconce/connect/cuda/decomposed_kernels.h"

#include <gtest/gtest.h>

#include "sconce/dispatch/registry.h"
#include "sconce/ops.h"
#include "sconce/testing/error_of.h"

namespace sconce {
namespace {

std::vector<Value> decomposed(const char* name, std::vector<Value> args) {
  const Op* op = find_op(name);
  SCONCE_ASSERT(op);
  std::vector<Value> returns(op->schema().returns.size());
  run_decomposed(*op, KeySet(), args.data(), returns.data());
  return returns;
}

bool are_close(const Tensor& a, const Tensor& b) {
  return a.sizes() == b.sizes() && item_of(max(abs(sub(a, b)))).to_double() < 1e-6;
}

TEST(DecomposedKernels, GiveTheResultsOfTheOperator) {
  const Tensor a = rand({2, 3, 4}), b = rand({2, 4, 5}), c = rand({2, 3, 5});
  const auto out = decomposed("aten::baddbmm", {c, a, b, Scalar(2), Scalar(0.5)});
  EXPECT_TRUE(are_close(out[0].to_tensor(), baddbmm(c, a, b, 2, 0.5)));
}

TEST(DecomposedKernels, WriteInPlaceAndToOut) {
  const Tensor a = rand({2, 3, 4}), b = rand({2, 4, 5}), c = rand({2, 3, 5});
  const Tensor expected = baddbmm(c, a, b);
  Tensor out = empty_tensor({0}, DType::float32);
  const auto returned = decomposed("aten::baddbmm.out", {c, a, b, Scalar(1), Scalar(1), out});
  EXPECT_TRUE(are_close(out, expected));
  EXPECT_EQ(returned[0].to_tensor().data(), out.data());
  const uint32_t version = c.version();
  decomposed("aten::baddbmm_", {c, a, b, Scalar(1), Scalar(1)});
  EXPECT_TRUE(are_close(c, expected));
  EXPECT_GT(c.version(), version);
}

}  // namespace
}  // namespace sconce
