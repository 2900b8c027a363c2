// Formulas of the table that recorded cases say little about: in-place and random operators, numbers that are complex,
// second derivatives. Expected values are PyTorch's.
#include <gtest/gtest.h>

#include "sconce/autograd/backward.h"
#include "sconce/autograd/test_tensors.h"
#include "sconce/ops.h"
#include "sconce/testing/error_of.h"

namespace sconce::autograd {
namespace {

using sconce::testing::error_of;

std::string first(const Tensor& output, const Tensor& input, const Tensor& cotangent) {
  return text(grad({output}, {input}, {cotangent})[0]);
}

std::string second(const Tensor& output, const Tensor& input, const Tensor& cotangent, const Tensor& cotangent2) {
  GradOptions options;
  options.create_graph = true;
  return text(grad(grad({output}, {input}, {cotangent}, options), {input}, {cotangent2})[0]);
}

TEST(Formulas, what_is_overwritten_gets_zeros) {
  const Tensor x = leaf({1, 2}), ones = tensor({1, 1});
  EXPECT_EQ(first(fill_(x * 2, 3), x, ones), "tensor([0., 0.])");
  EXPECT_EQ(first(zero_(x * 2), x, ones), "tensor([0., 0.])");
  EXPECT_EQ(first(uniform_(x * 2), x, ones), "tensor([0., 0.])");
  EXPECT_EQ(first(normal_(x * 2), x, ones), "tensor([0., 0.])");
  const Tensor y = leaf({5});
  EXPECT_EQ(first(fill_(x * 2, select(y, 0, 0)), y, ones), "tensor([2.])");
}

TEST(Formulas, powers_in_place) {
  const Tensor x = leaf({2, 3}), e = leaf({3, 2}), ones = tensor({1, 1});
  EXPECT_EQ(first(pow_(x * 1, 3), x, ones), "tensor([12., 27.])");
  EXPECT_EQ(first(pow_(x * 1, e), x, ones), "tensor([12.,  6.])");
  EXPECT_EQ(first(pow_(x * 1, e), e, ones), "tensor([5.5452, 9.8875])");
  EXPECT_EQ(error_of([&] { pow_(tensor({1}), x); }),
            "pow_.Tensor: output with shape [1] doesn't match the broadcast shape [2] (called with self: float32[1], "
            "exponent: "
            "float32[2])");
}

TEST(Formulas, numbers_are_conjugated) {
  const Tensor z = complex(tensor({1, 3}), tensor({2, -1}));
  set_requires_grad(z, true);
  const Tensor w = complex(tensor({1, 0}), tensor({0, 1}));
  EXPECT_EQ(first(mul(z, std::complex<double>(2, 1)), z, w), "tensor([2.-1.j, 1.+2.j])");
  EXPECT_EQ(first(div(z, std::complex<double>(1, 1)), z, w), "tensor([ 0.5000+0.5000j, -0.5000+0.5000j])");
  EXPECT_EQ(first(add(zeros_like(z), z, std::complex<double>(0, 2)), z, w), "tensor([0.-2.j, 2.-0.j])");
}

TEST(Formulas, cumprod_twice_with_and_without_zeros) {
  const Tensor x = leaf({2, 1, 3}), zero = leaf({2, 0, 3, 4});
  EXPECT_EQ(second(cumprod(x, 0), x, tensor({1, 2, 3}), tensor({1, 1, 2})), "tensor([17., 23.,  9.])");
  EXPECT_EQ(second(cumprod(zero, 0), zero, tensor({1, 2, 3, 4}), tensor({1, 1, 2, 3})),
            "tensor([ 59., 207.,  38.,  24.])");
}

TEST(Formulas, refuse_what_depends_on_the_phase_of_vectors) {
  const Tensor a = complex(reshape(tensor({2, 1, 1, 3}), {2, 2}), reshape(tensor({0, 1, -1, 0}), {2, 2}));
  set_requires_grad(a, true);
  const auto [values, vectors] = linalg_eigh(a);
  EXPECT_NE(
      error_of([&] { backward({sum(real(mul(vectors, std::complex<double>(1, 1))))}); })
          .find("linalg_eigh_backward: The eigenvectors in the complex case are specified up to multiplication by "
                "e^{i phi}."),
      std::string::npos);
  const auto [again, turned] = linalg_eigh(a);
  backward({sum(abs(turned))});
  EXPECT_TRUE(grad(a).defined());
}

TEST(Formulas, what_requires_grad_keeps_its_size) {
  EXPECT_NE(error_of([] { resize_(leaf({1, 2}) * 1, {3}); }).find("cannot resize variables that require grad"),
            std::string::npos);
}

}  // namespace
}  // namespace sconce::autograd
