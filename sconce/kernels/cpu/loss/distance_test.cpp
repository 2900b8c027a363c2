// Gradients of distances against differences, and what distances refuse.
#include <gtest/gtest.h>

#include <limits>

#include "sconce/ops.h"
#include "sconce/testing/error_of.h"

namespace sconce {
namespace {

Tensor noise(IntList sizes) { return randn(sizes, DType::float64); }
double inner_product(const Tensor& a, const Tensor& b) { return item(sum(mul(a, b))).to_double(); }

TEST(Distance, gradients_match_differences) {
  const Tensor a = noise(Dims({3, 5})), b = noise(Dims({4, 5})), g = noise(Dims({3, 4}));
  const double step = 1e-6;
  for (const double p : {0.7, 1.0, 1.5, 2.0, 3.0, std::numeric_limits<double>::infinity()}) {
    const Tensor grad = _cdist_backward(g, a, b, p, cdist(a, b, p, 2));
    const Tensor direction = noise(a.sizes()), moved = add(a, mul(direction, step)),
                 back = sub(a, mul(direction, step));
    const double slope = inner_product(g, sub(cdist(moved, b, p, 2), cdist(back, b, p, 2))) / (2 * step);
    EXPECT_NEAR(slope, inner_product(grad, direction), 1e-6) << p;
    const Tensor h = noise(Dims({3}));
    const double pairs = inner_product(h, sub(pdist(moved, p), pdist(back, p))) / (2 * step);
    EXPECT_NEAR(pairs, inner_product(_pdist_backward(h, a, p, pdist(a, p)), direction), 1e-6) << p;
  }
}

TEST(Distance, has_no_slope_at_zero) {
  const Tensor a = ones(Dims({2, 3}), DType::float64), g = ones(Dims({2, 2}), DType::float64);
  for (const double p : {0.0, 0.5, 1.0, 2.0, 3.0, std::numeric_limits<double>::infinity()}) {
    const Tensor grad = _cdist_backward(g, a, a, p, cdist(a, a, p, 2));
    EXPECT_EQ(item(sum(abs(grad))).to_double(), 0) << p;
  }
}

TEST(Distance, refuses_what_does_not_fit) {
  const Tensor a = noise(Dims({3, 5}));
  EXPECT_ERROR(cdist(a, noise(Dims({3, 4}))), "must have the same number of columns");
  EXPECT_ERROR(cdist(a, a, -1.0), "non-negative p");
  EXPECT_ERROR(cdist(a, a, 2.0, 3), "possible modes: 0, 1, 2, but was: 3");
  EXPECT_ERROR(cdist(to(a, DType::float16), to(a, DType::float16)), "\"cdist\" not implemented for 'Half'");
  EXPECT_ERROR(pdist(noise(Dims({2, 2, 2}))), "pdist only supports 2D tensors");
  EXPECT_ERROR(_cdist_backward(a, a, a, 2.0, a), "shapes do not fit");
}

}  // namespace
}  // namespace sconce
