// Results that are let go on the CPU (Note [Results that are computed again]): the gradients' bits, the memory, and
// what keeps a result.
#include "sconce/autograd/graph/recompute.h"

#include <gtest/gtest.h>

#include "sconce/autograd/backward.h"
#include "sconce/autograd/variable.h"
#include "sconce/ops.h"
#include "sconce/tensor/generator.h"
#include "sconce/tensor/grad_mode.h"
#include "sconce/tensor/memory/allocator_stats.h"
#include "sconce/testing/error_of.h"

namespace sconce::autograd {
namespace {

class Recompute : public ::testing::Test {
 protected:
  void SetUp() override { before_ = set_recompute_bytes(0); }
  void TearDown() override { set_recompute_bytes(before_); }

 private:
  int64_t before_ = 0;
};

Tensor leaf(IntList sizes) {
  Tensor t = mul(randn(sizes), Scalar(0.1));
  set_requires_grad(t, true);
  return t;
}

struct Net {
  Tensor first = leaf({256, 256}), second = leaf({256, 256}), third = leaf({256, 256});
  // Products of matrices, and of batches of them, which see the result in other sizes.
  Tensor operator()(const Tensor& x) const {
    const Tensor y = linear(gelu(linear(x, first)), second);
    return sum(linear(silu(y), third));
  }
  std::vector<Tensor> gradients(const Tensor& loss, bool create_graph = false) const {
    GradOptions options;
    options.create_graph = create_graph;
    return grad({loss}, {first, second, third}, {}, options);
  }
};

bool same_bits(const Tensor& a, const Tensor& b) { return equal(a, b); }

TEST_F(Recompute, GradientsAreTheSameInLessMemory) {
  manual_seed(3);
  const Net net;
  for (const std::vector<int64_t>& sizes : {std::vector<int64_t>{256, 256}, {4, 64, 256}}) {
    const Tensor x = randn(sizes);
    std::vector<Tensor> expected;
    size_t held[2];
    for (const bool lets_go : {false, true}) {
      set_recompute_bytes(lets_go ? 0 : -1);
      const size_t start = allocator_stats().used;
      const Tensor loss = net(x);
      let_go_results();
      held[lets_go] = allocator_stats().used - start;
      const std::vector<Tensor> seen = net.gradients(loss);
      if (!lets_go) expected = seen;
      for (size_t i = 0; i < seen.size(); ++i) EXPECT_TRUE(same_bits(seen[i], expected[i])) << i;
    }
    // The result of gelu and, behind the second product, which reads both, that of silu.
    const size_t results = size_t{2} * 256 * 256 * 4;
#ifdef SCONCE_NO_POOLS  // the sanitizers' builds: objects of tensors are counted, too
    EXPECT_GE(held[0] - held[1], results);
#else
    EXPECT_EQ(held[0] - held[1], results);
#endif
  }
}

TEST_F(Recompute, ResultsAndArgumentsThatAreOwnedStay) {
  const Net net;
  const Tensor h = linear(randn({256, 256}), net.first);
  const size_t start = allocator_stats().used;
  {
    const Tensor loss = sum(linear(gelu(h), net.second));
    let_go_results();
    EXPECT_GE(allocator_stats().used - start, size_t{256} * 256 * 4);  // `h` may still be written
    {
      const NoGrad off;
      mul_(h, Scalar(2));
    }
    // The gradient of the second weight does not read it, that of the first does.
    EXPECT_TRUE(grad({loss}, {net.second}, {}, {{.retain_graph = true}})[0].defined());
    EXPECT_ERROR(grad({loss}, {net.first}), "has been modified by an inplace operation");
  }
}

TEST_F(Recompute, SecondDerivativesGoThroughThem) {
  manual_seed(4);
  const Net net;
  const Tensor x = randn({3, 5, 256});
  std::vector<Tensor> second[2];
  for (const bool lets_go : {false, true}) {
    set_recompute_bytes(lets_go ? 0 : -1);
    const std::vector<Tensor> first = net.gradients(net(x), true);
    second[lets_go] = net.gradients(sum(mul(first[0], first[0])));
  }
  for (size_t i = 0; i < 3; ++i) EXPECT_TRUE(same_bits(second[0][i], second[1][i])) << i;
}

TEST_F(Recompute, BackwardRunsTwiceWhereTheGraphIsKept) {
  const Net net;
  const Tensor loss = net(randn({256, 256}));
  const std::vector<Tensor> first = grad({loss}, {net.first}, {}, {{.retain_graph = true}}),
                            again = grad({loss}, {net.first});
  EXPECT_TRUE(same_bits(first[0], again[0]));
}

// Convolutions with norms of the batch and rectifiers between them.
struct Layers {
  std::vector<Tensor> weights, scales, shifts;
  explicit Layers(DType dtype = DType::float32) {
    for (int i = 0; i < 3; ++i) {
      weights.push_back(parameter(to(mul(randn({8, 8, 3, 3}), Scalar(0.2)), dtype)));
      scales.push_back(parameter(to(rand({8}), dtype)));
      shifts.push_back(parameter(to(randn({8}), dtype)));
    }
  }
  static Tensor parameter(const Tensor& t) {
    set_requires_grad(t, true);
    return t;
  }
  Tensor norm(const Tensor& x, size_t i) const {
    return batch_norm(x, scales[i], shifts[i], {}, {}, true, 0.1, 1e-5, false);
  }
  Tensor operator()(const Tensor& x, bool in_place) const {
    Tensor y = x;
    for (size_t i = 0; i < weights.size(); ++i) {
      y = norm(conv2d(y, weights[i], {}, {1, 1}, {1, 1}), i);
      if (in_place)
        relu_(y);
      else
        y = relu(y);
    }
    return mean(mul(y, y));
  }
  std::vector<Tensor> gradients(const Tensor& loss) const {
    return grad({loss}, {weights[0], weights[1], weights[2], scales[0], shifts[1]});
  }
};

TEST_F(Recompute, RectifiedNormsAreTheSameInLessMemory) {
  for (const DType dtype : {DType::float32, DType::float64, DType::bfloat16}) {
    for (const MemoryFormat format : {MemoryFormat::contiguous, MemoryFormat::channels_last}) {
      for (const bool in_place : {false, true}) {
        manual_seed(5);
        const Layers layers(dtype);
        const Tensor x = contiguous(to(randn({8, 8, 32, 32}), dtype), format);
        const size_t result = static_cast<size_t>(x.numel()) * x.item_size();
        std::vector<Tensor> expected;
        size_t held[2];
        for (const bool lets_go : {false, true}) {
          set_recompute_bytes(lets_go ? static_cast<int64_t>(result) : -1);
          const size_t start = allocator_stats().used;
          const Tensor loss = layers(x, in_place);
          let_go_results();
          held[lets_go] = allocator_stats().used - start;
          const std::vector<Tensor> seen = layers.gradients(loss);
          if (!lets_go) expected = seen;
          for (size_t i = 0; i < seen.size(); ++i) EXPECT_TRUE(same_bits(seen[i], expected[i])) << i;
        }
        // All three, but for copies of the norms' parameters.
        EXPECT_LE(held[1] + 3 * result, held[0] + 3 * size_t{1024});
      }
    }
  }
}

TEST_F(Recompute, NormsOfWhatIsOwnedStay) {
  const Layers layers;
  const Tensor x = randn({4, 8, 16, 16});
  const Tensor h = conv2d(x, layers.weights[0], {}, {1, 1}, {1, 1});
  const Tensor loss = sum(conv2d(relu(layers.norm(h, 0)), layers.weights[1]));
  let_go_results();
  {
    const NoGrad off;
    mul_(h, Scalar(2));  // which the gradient of the second convolution's weight does not read
  }
  EXPECT_TRUE(grad({loss}, {layers.weights[1]}, {}, {{.retain_graph = true}})[0].defined());
  EXPECT_ERROR(grad({loss}, {layers.weights[0]}), "has been modified by an inplace operation");
}

// The formula keeps a norm's weight, not its shift.
TEST_F(Recompute, ShiftsMayBeWrittenBeforeBackward) {
  const Layers layers;
  const Tensor x = randn({4, 8, 16, 16});
  const Tensor expected = grad({layers(x, false)}, {layers.weights[1]})[0];
  const Tensor loss = layers(x, false);
  add_(detach(layers.shifts[0]), Scalar(1));
  EXPECT_TRUE(same_bits(grad({loss}, {layers.weights[1]})[0], expected));
}

}  // namespace
}  // namespace sconce::autograd
