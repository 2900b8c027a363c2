// Folding is the adjoint of unfolding, and refuses sizes that do not fit.
#include <gtest/gtest.h>

#include "sconce/ops.h"
#include "sconce/testing/error_of.h"

namespace sconce {
namespace {

Tensor noise(IntList sizes) { return randn(sizes, DType::float64); }
double inner_product(const Tensor& a, const Tensor& b) { return item(sum(mul(a, b))).to_double(); }

TEST(Fold, is_the_adjoint_of_unfolding) {
  const Tensor x = noise(Dims({2, 3, 9, 8}));
  const Dims kernel({3, 2}), dilation({2, 1}), padding({1, 2}), stride({2, 3});
  const Tensor columns = im2col(x, kernel, dilation, padding, stride), g = noise(columns.sizes());
  EXPECT_NEAR(inner_product(columns, g), inner_product(x, col2im(g, Dims({9, 8}), kernel, dilation, padding, stride)),
              1e-11);
  const Tensor windows = unfold(x, 2, 4, 3), h = noise(windows.sizes());
  EXPECT_NEAR(inner_product(windows, h), inner_product(x, unfold_backward(h, x.sizes(), 2, 4, 3)), 1e-11);
}

TEST(Fold, refuses_what_does_not_fit) {
  const Tensor x = noise(Dims({2, 3, 5, 6}));
  const Dims one({1, 1}), two({2, 2}), zero({0, 0}), nine({9, 9});
  EXPECT_ERROR(im2col(x, zero, one, zero, one), "kernel size should be greater than zero");
  EXPECT_ERROR(im2col(x, two, zero, zero, one), "dilation should be greater than zero");
  EXPECT_ERROR(im2col(x, two, one, zero, zero), "stride should be greater than zero");
  EXPECT_ERROR(im2col(x, nine, one, zero, one), "its components must be at least one");
  EXPECT_ERROR(im2col(select(x, 0, 0), Dims({2}), one, zero, one), "expected kernel_size equals to 2");
  EXPECT_ERROR(im2col(to(x, DType::int64), two, one, zero, one), "not implemented for 'Long'");
  EXPECT_ERROR(col2im(noise(Dims({2, 5, 20})), Dims({5, 6}), two, one, zero, one),
               "divisible by the product of kernel_size");
  EXPECT_ERROR(col2im(noise(Dims({2, 4, 21})), Dims({5, 6}), two, one, zero, one),
               "number of sliding blocks 4 * 5 = 20");
  EXPECT_ERROR(unfold_backward(noise(Dims({3, 4})), Dims({7}), 0, 4, 2), "no unfolding of [7]");
  EXPECT_ERROR(unfold_backward(noise(Dims({3, 4})), Dims({7}), 0, 4, INT64_MAX), "no unfolding of [7]");
}

}  // namespace
}  // namespace sconce
