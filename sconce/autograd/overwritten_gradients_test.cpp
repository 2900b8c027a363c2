// Formulas write over gradients that nobody else has (FormulaCall::owns_grad), and over no others.
#include <gtest/gtest.h>

#include "sconce/autograd/backward.h"
#include "sconce/autograd/hooks.h"
#include "sconce/autograd/variable.h"
#include "sconce/ops.h"
#include "sconce/tensor/memory/allocator_stats.h"

namespace sconce::autograd {
namespace {

Tensor leaf(IntList sizes) {
  const Tensor t = sub(rand(sizes), 0.5);
  set_requires_grad(t, true);
  return t;
}

TEST(OverwrittenGradients, AreNotSeenByOthers) {
  const Tensor x = leaf({100}), w = rand({100});
  const Tensor y = relu(x), z = tanh(y);
  retain_grad(y);
  retain_grad(z);
  Tensor seen;
  register_hook(y, [&](const Tensor& g) { return seen = g, Tensor(); });
  backward({z}, {w});
  const Tensor slope = rsub(mul(detach(z), detach(z)), 1);
  EXPECT_TRUE(allclose(grad(z), w));
  EXPECT_TRUE(allclose(grad(y), mul(w, slope)));
  EXPECT_TRUE(allclose(seen, mul(w, slope)));
  EXPECT_TRUE(allclose(grad(x), mul(mul(w, slope), gt(detach(x), 0))));
}

TEST(OverwrittenGradients, KeepWhatWasGiven) {
  const Tensor x = leaf({100}), w = rand({100}), before = clone(w);
  backward({relu(x)}, {w});
  EXPECT_TRUE(equal(w, before));
  const Tensor y = sum(mul(relu(x), relu(mul(x, 2))));  // a gradient that goes two ways
  const Tensor got = autograd::grad({y}, {x})[0];
  EXPECT_TRUE(allclose(got, mul(clamp_min(detach(x), 0), 4)));
}

TEST(OverwrittenGradients, SaveMemory) {
  const int64_t n = 1 << 20;
  const Tensor x = leaf({n});
  const auto grow = [&] {
    const Tensor y = sum(relu(tanh(sigmoid(relu(mul(x, 2))))));
    reset_allocator_peak();
    const size_t before = allocator_stats().used;
    backward({y});
    return allocator_stats().used_peak - before;
  };
  grow();
  EXPECT_LE(grow(), 2 * 4 * static_cast<size_t>(n) + 100000);
}

}  // namespace
}  // namespace sconce::autograd
