// Results that are let go and computed again (Note [Results that are computed again]): the gradients' bits, the memory,
// and what keeps a result. On a GPU, or on the host's stand-in for one.
#include <gtest/gtest.h>

#include "sconce/autograd/backward.h"
#include "sconce/autograd/graph/recompute.h"
#include "sconce/autograd/variable.h"
#include "sconce/connect/cuda/decomposed_kernels.h"
#include "sconce/kernels/cuda/cuda_backend.h"
#include "sconce/kernels/cuda/device/nvrtc.h"
#include "sconce/ops.h"
#include "sconce/tensor/generator.h"
#include "sconce/tensor/libraries/backend_library.h"
#include "sconce/testing/compiled/planned_calls.h"
#include "sconce/testing/error_of.h"

namespace sconce {
namespace {

constexpr Device kGpu{DeviceType::cuda, 0};

class CudaRecompute : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = cuda::start(); !why.empty()) GTEST_SKIP() << "no CUDA device: " << why;
    if (!cuda::find_nvrtc()) GTEST_SKIP() << cuda::why_no_nvrtc();
    static const size_t decomposed = add_decomposed_kernels(DeviceType::cuda);
    static_cast<void>(decomposed);
    before_ = autograd::set_recompute_bytes(0);
  }
  void TearDown() override { autograd::set_recompute_bytes(before_); }

 private:
  int64_t before_ = 0;
};

int64_t allocated() { return find_queries(DeviceType::cuda)->memory(0)[0]; }

// Convolutions with batch norms and relus between them.
struct Layers {
  std::vector<Tensor> weights, scales, shifts;
  explicit Layers(DType dtype) {
    manual_seed(5);
    for (int i = 0; i < 3; ++i) {
      weights.push_back(leaf(to(mul(randn({8, 8, 3, 3}), Scalar(0.2)), kGpu, dtype)));
      scales.push_back(leaf(to(rand({8}), kGpu, DType::float32)));
      shifts.push_back(leaf(to(randn({8}), kGpu, DType::float32)));
    }
  }
  static Tensor leaf(const Tensor& t) {
    autograd::set_requires_grad(t, true);
    return t;
  }
  Tensor norm(const Tensor& x, size_t i) const {
    return batch_norm(x, scales[i], shifts[i], {}, {}, true, 0.1, 1e-5, true);
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
    return sum(mul(y, y));
  }
  std::vector<Tensor> gradients(const Tensor& loss, bool create_graph = false) const {
    std::vector<Tensor> all = weights;
    all.insert(all.end(), scales.begin(), scales.end());
    all.insert(all.end(), shifts.begin(), shifts.end());
    autograd::GradOptions options;
    options.create_graph = create_graph;
    return autograd::grad({loss}, all, {}, options);
  }
};

TEST_F(CudaRecompute, GradientsHaveTheSameBitsInLessMemory) {
  for (const DType dtype : {DType::float32, DType::bfloat16}) {
    for (const bool in_place : {false, true}) {
      const Layers layers(dtype);
      const Tensor x = to(randn({4, 8, 12, 12}), kGpu, dtype);
      const int64_t result = x.numel() * static_cast<int64_t>(x.item_size());
      std::vector<Tensor> expected;
      int64_t memory[2];
      for (const bool lets_go : {false, true}) {
        autograd::set_recompute_bytes(lets_go ? 0 : -1);
        const int64_t start = allocated();
        const Tensor loss = layers(x, in_place);
        memory[lets_go] = allocated() - start;
        const std::vector<Tensor> seen = layers.gradients(loss);
        if (!lets_go) expected = seen;
        for (size_t i = 0; i < seen.size(); ++i)
          EXPECT_FALSE(testing::compare_same_bits(to(seen[i], Device(), seen[i].dtype()),
                                                  to(expected[i], Device(), expected[i].dtype())))
              << i;
      }
      // Of three rectified norms the last one is looked at by nobody any more. Copies of the norms' weights and shifts
      // are a block of the allocator each.
      const int64_t copies = 3 * 2 * 512;
      EXPECT_LE(memory[1], memory[0] - 2 * result + copies) << memory[0];
    }
  }
}

TEST_F(CudaRecompute, ResultsThatAreOwnedStay) {
  const Layers layers(DType::float32);
  const Tensor x = to(randn({2, 8, 6, 6}), kGpu, DType::float32);
  const Tensor y = relu(layers.norm(conv2d(x, layers.weights[0], {}, {1, 1}, {1, 1}), 0));
  const Tensor z = relu(layers.norm(conv2d(y, layers.weights[1], {}, {1, 1}, {1, 1}), 1));
  const std::string before = y.to_string();
  const Tensor loss = layers(z, false);
  EXPECT_EQ(y.to_string(), before);
  autograd::backward({sum(loss)});
  EXPECT_TRUE(autograd::grad(layers.weights[0]).defined());
}

TEST_F(CudaRecompute, SecondDerivativesGoThroughThem) {
  const Tensor x = to(randn({2, 8, 4, 4}), kGpu, DType::float32);
  std::vector<Tensor> second[2];
  for (const bool lets_go : {false, true}) {
    autograd::set_recompute_bytes(lets_go ? 0 : -1);
    const Layers layers(DType::float32);
    Tensor all = layers.gradients(layers(x, true), true)[0];
    second[lets_go] = autograd::grad({sum(mul(all, all))}, {layers.weights[1], layers.scales[0]}, {}, {});
  }
  for (size_t i = 0; i < 2; ++i)
    EXPECT_FALSE(testing::compare_same_bits(to(second[0][i], Device(), DType::float32),
                                            to(second[1][i], Device(), DType::float32)));
}

// PyTorch's formula keeps a norm's weight, not its shift.
TEST_F(CudaRecompute, ShiftsMayBeWrittenBeforeBackward) {
  const Layers layers(DType::float32);
  const Tensor x = to(randn({2, 8, 4, 4}), kGpu, DType::float32);
  const Tensor expected = autograd::grad({layers(x, false)}, {layers.weights[1]})[0];
  const Tensor loss = layers(x, false);
  add_(detach(layers.shifts[0]), Scalar(1));
  EXPECT_TRUE(equal(autograd::grad({loss}, {layers.weights[1]})[0], expected));
  const Tensor other = layers(x, false);
  add_(detach(layers.scales[0]), Scalar(1));
  EXPECT_NE(testing::error_of([&] {
              autograd::grad({other}, {layers.weights[0]});
            }).find("has been modified by an inplace operation: [torch.FloatTensor [8]] is at version 1"),
            std::string::npos);
}

}  // namespace
}  // namespace sconce
