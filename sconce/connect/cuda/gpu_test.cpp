// Device cuda as programs use it, on a GPU: results against those of the CPU. Skipped where there is none.
#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>

#include <fmt/format.h>

#include "sconce/autograd/backward.h"
#include "sconce/autograd/variable.h"
#include "sconce/connect/cuda/decomposed_kernels.h"
#include "sconce/kernels/cuda/cuda_backend.h"
#include "sconce/kernels/cuda/device/caching_allocator.h"
#include "sconce/kernels/cuda/device/context.h"
#include "sconce/ops.h"
#include "sconce/tensor/copy.h"
#include "sconce/tensor/libraries/float32_precision.h"
#include "sconce/testing/error_of.h"

namespace sconce {
namespace {

constexpr Device kGpu{DeviceType::cuda, 0};

class Gpu : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = cuda::start(); !why.empty()) GTEST_SKIP() << "no CUDA device: " << why;
    static const size_t decomposed = add_decomposed_kernels(DeviceType::cuda);
    static_cast<void>(decomposed);  // 0 where another test was first
  }
};

Tensor up(const Tensor& t) { return to(t, kGpu, t.dtype()); }
Tensor down(const Tensor& t) { return to(t, Device(), t.dtype()); }

double distance(const Tensor& a, const Tensor& b) {
  if (a.sizes() != b.sizes() || a.dtype() != b.dtype()) return INFINITY;
  if (a.numel() == 0) return 0;
  const DType wide = category(a.dtype()) == Category::complex ? DType::complex128 : DType::float64;
  return item_of(max(abs(sub(to(down(a), wide), to(down(b), wide))))).to_double();
}

TEST_F(Gpu, CopiesGoBothWays) {
  const Tensor x = t(reshape(arange(6), {2, 3}));
  const Tensor there = up(x);
  EXPECT_EQ(there.device(), kGpu);
  EXPECT_TRUE(equal(down(there), x));
  EXPECT_TRUE(equal(down(to(there, DType::float16)), to(x, DType::float16)));
  EXPECT_EQ(there.to_string(), "tensor([[0, 3],\n        [1, 4],\n        [2, 5]], device='cuda:0')");
  EXPECT_EQ(item_of(select(select(there, 0, 2), 0, 1)).to_int(), 5);
}

TEST_F(Gpu, PointwiseChainsAndTheirGradients) {
  const auto run = [](const Tensor& p, const Tensor& q) {
    autograd::set_requires_grad(p, true);
    autograd::set_requires_grad(q, true);
    const Tensor out = sum(relu(add(mul(sigmoid(p), q), p)));
    autograd::backward({out});
    return std::tuple(out, autograd::grad(p), autograd::grad(q));
  };
  const Tensor p = randn({100, 33}), q = randn({33});
  const auto [a, a_p, a_q] = run(shallow_copy(p), shallow_copy(q));
  const auto [b, b_p, b_q] = run(up(p), up(q));
  EXPECT_EQ(b_p.device(), kGpu);
  EXPECT_LT(distance(a, b), 1e-3);
  EXPECT_LT(distance(a_p, b_p), 1e-5);
  EXPECT_LT(distance(a_q, b_q), 1e-4);
}

TEST_F(Gpu, ProductsOfEveryDtypeAndLayout) {
  for (const DType dtype : {DType::float32, DType::float64, DType::float16, DType::bfloat16, DType::complex64,
                            DType::int64, DType::int32, DType::uint8}) {
    const bool is_float = category(dtype) >= Category::floating;
    const auto make = [&](std::vector<int64_t> sizes) {
      return is_float ? to(div(randint(-8, 9, sizes), Scalar(4)), dtype) : to(randint(0, 5, sizes), dtype);
    };
    const Tensor a = make({37, 19}), b = make({19, 53}), c = make({37, 53}), bias = make({53});
    const double bar = dtype == DType::bfloat16 ? 0.3 : dtype == DType::float16 ? 0.05 : 1e-5;
    const Tensor dense = down(mm(up(a), up(b)));
    EXPECT_LT(distance(dense, mm(a, b)), bar) << dtype_name(dtype);
    const Tensor a_t = t(up(contiguous(t(a)))), b_t = t(up(contiguous(t(b))));
    EXPECT_LT(distance(mm(a_t, up(b)), mm(a, b)), bar) << dtype_name(dtype);
    EXPECT_LT(distance(mm(up(a), b_t), mm(a, b)), bar) << dtype_name(dtype);
    EXPECT_LT(distance(mm(a_t, b_t), mm(a, b)), bar) << dtype_name(dtype);
    EXPECT_LT(distance(addmm(up(bias), up(a), up(b)), addmm(bias, a, b)), bar) << dtype_name(dtype);
    EXPECT_LT(distance(addmm(up(c), up(a), up(b), 2, 3), addmm(c, a, b, 2, 3)), 3 * bar) << dtype_name(dtype);
    const Tensor odd = slice(up(make({37, 39})), 1, 0, 38, 2);  // every second column
    EXPECT_LT(distance(mm(odd, up(b)), mm(contiguous(down(odd)), b)), bar) << dtype_name(dtype);
    const Tensor batch = make({5, 7, 11}), other = make({5, 11, 3}), added = make({5, 7, 3});
    EXPECT_LT(distance(bmm(up(batch), up(other)), bmm(batch, other)), bar) << dtype_name(dtype);
    EXPECT_LT(distance(baddbmm(up(added), up(batch), up(other)), baddbmm(added, batch, other)), bar)
        << dtype_name(dtype);
    EXPECT_EQ(mm(up(make({0, 4})), up(make({4, 2}))).sizes()[0], 0);
    EXPECT_EQ(distance(mm(up(make({3, 0})), up(make({0, 2}))), zeros({3, 2}, dtype)), 0) << dtype_name(dtype);
  }
}

TEST_F(Gpu, VectorsAreProductsToo) {
  const Tensor a = randn({37, 19}), x = randn({19}), y = randn({37}), one = randn({1});
  EXPECT_LT(distance(mv(up(a), up(x)), mv(a, x)), 1e-5);
  EXPECT_LT(distance(dot(up(x), up(x)), dot(x, x)), 1e-4);
  EXPECT_LT(distance(addmv(up(y), up(a), up(x), 2, 0.5), addmv(y, a, x, 2, 0.5)), 1e-4);
  EXPECT_LT(distance(addmv(up(one), up(a), up(x)), addmv(one, a, x)), 1e-4);
  const Tensor rows = randn({2, 3, 19});
  EXPECT_LT(distance(linear(up(rows), up(a), up(y)), linear(rows, a, y)), 1e-4);
}

TEST_F(Gpu, TensorsOfTwoDevicesAreRefused) {
  const Tensor here = rand({2, 2}), there = up(here);
  EXPECT_ERROR(
      mm(there, here),
      "Expected all tensors to be on the same device, but got mat2 is on cpu, different from other tensors on cuda:0 "
      "(when checking argument in method wrapper_CUDA_mm)");
  EXPECT_ERROR(add(there, here), "Expected all tensors to be on the same device, but found at least two devices");
  EXPECT_LT(distance(add(there, scalar_tensor_of(1.0, DType::float32)), add(here, Scalar(1))), 1e-6);
}

TEST_F(Gpu, RunningOutOfMemoryLeavesTensorsAsTheyAre) {
  const Tensor x = up(arange(1000));
  EXPECT_ERROR(empty_tensor({int64_t{1} << 45}, DType::uint8, kGpu),
               "CUDA out of memory. Tried to allocate 32768.00 GiB");
  EXPECT_EQ(item_of(sum(x)).to_int(), 499500);
  EXPECT_ERROR(empty_tensor({2}, DType::uint8, Device(DeviceType::cuda, 100)), "cuda:100: this machine has");
}

TEST_F(Gpu, ThreadsHaveStreamsOfTheirOwn) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([t] {
      cuda::set_current_stream(kGpu, cuda::pool_stream(kGpu, false));
      for (int i = 0; i < 50; ++i) {
        const Tensor x = full({1000 + t}, i + t, DType::float32, {}, kGpu);
        EXPECT_EQ(item_of(sum(mul(x, Scalar(2)))).to_double(), 2.0 * (i + t) * (1000 + t));
      }
      cuda::set_current_stream(kGpu, nullptr);
    });
  }
  for (std::thread& t : threads) t.join();
}

// Rows enough for cuDNN, where it is there, against float32 on the CPU: results and the logarithms of sums.
TEST_F(Gpu, AttentionOfManyRows) {
  struct Case {
    int64_t heads, key_heads, queries, keys, size;
    bool is_causal, is_masked;
  };
  for (const Case& c : {Case{2, 2, 256, 256, 64, false, false},
                        {2, 2, 320, 320, 128, true, false},
                        {2, 2, 256, 320, 128, true, false},
                        {2, 1, 256, 264, 64, true, false},
                        {2, 2, 256, 264, 64, false, true}}) {
    for (const DType dtype : {DType::bfloat16, DType::float16}) {
      const Tensor q = to(randn({2, c.heads, c.queries, c.size}), dtype),
                   k = to(randn({2, c.key_heads, c.keys, c.size}), dtype),
                   v = to(randn({2, c.key_heads, c.keys, c.size}), dtype),
                   mask = c.is_masked ? to(randn({2, 1, c.queries, c.keys}), dtype) : Tensor();
      const auto wide = [&](const Tensor& t) {
        return repeat_interleave(to(t, DType::float32), c.heads / c.key_heads, 1);
      };
      const auto [want, want_level] = _scaled_dot_product_flash_attention_for_cpu(
          to(q, DType::float32), wide(k), wide(v), 0.0, c.is_causal, c.is_masked ? to(mask, DType::float32) : mask);
      const auto [got, level] = _scaled_dot_product_flash_attention_for_cpu(up(q), up(k), up(v), 0.0, c.is_causal,
                                                                            c.is_masked ? up(mask) : mask);
      const auto off = [](const Tensor& x, const Tensor& y) {
        return item_of(max(abs(sub(to(x, DType::float32), y)))).to_double();
      };
      EXPECT_LE(off(down(got), want), 0.03) << c.queries << " x " << c.keys << ", " << dtype_name(dtype);
      EXPECT_LE(off(down(level), to(want_level, DType::float32)), 0.01) << c.queries << " x " << c.keys;
    }
  }
}

// 16-bit floats take the kernel that computes in blocks, what it does not serve the products; gradients are those of
// float32 on the CPU, of which no row of the mask hides all.
TEST_F(Gpu, AttentionChoosesItsKernel) {
  struct Case {
    DType dtype;
    int64_t heads, key_heads, queries, keys, size;
    bool is_causal, is_masked;
    std::optional<double> scale;
    int64_t choice;
  };
  const DType bf16 = DType::bfloat16;
  for (const Case& c : {Case{bf16, 2, 2, 40, 72, 64, false, false, {}, 1},
                        {DType::float16, 2, 2, 72, 72, 64, true, false, {}, 1},
                        {bf16, 4, 2, 33, 33, 32, true, false, 0.5, 1},
                        {bf16, 2, 2, 256, 320, 64, true, false, {}, 1},
                        {bf16, 2, 2, 1, 300, 64, false, true, {}, 1},
                        {bf16, 2, 2, 24, 40, 64, false, true, {}, 1},
                        {bf16, 2, 2, 24, 40, 64, false, false, -0.25, 0},
                        {bf16, 2, 2, 24, 40, 20, false, false, {}, 0},
                        {DType::float32, 2, 2, 24, 40, 64, true, false, {}, 0}}) {
    const std::string what =
        fmt::format("{} {}x{} of {}, {} heads", dtype_name(c.dtype), c.queries, c.keys, c.size, c.heads);
    const bool grouped = c.heads != c.key_heads;
    const Tensor q = to(randn({2, c.heads, c.queries, c.size}), c.dtype),
                 k = to(randn({2, c.key_heads, c.keys, c.size}), c.dtype),
                 v = to(randn({2, c.key_heads, c.keys, c.size}), c.dtype),
                 g = to(randn({2, c.heads, c.queries, c.size}), c.dtype);
    Tensor mask;
    if (c.is_masked) {
      mask = gt(rand({2, 1, c.queries, c.keys}), Scalar(0.3));
      fill_(narrow(mask, 3, 0, 1), Scalar(true));
    }
    EXPECT_EQ(_fused_sdp_choice(up(q), up(k), up(v), c.is_masked ? up(mask) : mask, 0.0, c.is_causal, c.scale, grouped),
              c.choice)
        << what;
    const auto run = [&](const Tensor& a, const Tensor& b, const Tensor& d, const Tensor& m, const Tensor& grad) {
      const std::vector<Tensor> in = {shallow_copy(a), shallow_copy(b), shallow_copy(d)};
      for (const Tensor& t : in) autograd::set_requires_grad(t, true);
      const Tensor out = scaled_dot_product_attention(in[0], in[1], in[2], m, 0.0, c.is_causal, c.scale, grouped);
      autograd::backward({sum(mul(out, grad))});
      std::vector<Tensor> all = {detach(out)};
      for (const Tensor& t : in) all.push_back(autograd::grad(t));
      return all;
    };
    const auto wide = [](const Tensor& t) { return to(t, DType::float32); };
    const auto want = run(wide(q), wide(k), wide(v), mask, wide(g)),
               got = run(up(q), up(k), up(v), c.is_masked ? up(mask) : mask, up(g));
    for (size_t i = 0; i < want.size(); ++i) {
      const double most = item_of(max(abs(want[i]))).to_double();
      EXPECT_LT(distance(wide(down(got[i])), want[i]), (c.dtype == DType::float32 ? 1e-5 : 0.02) * most)
          << what << ", " << i;
    }
  }
  // A row of which everything is hidden has the value 0.
  const Tensor q = up(to(randn({1, 1, 4, 64}), bf16)), hidden = up(zeros({4, 4}, DType::bool_));
  EXPECT_EQ(item_of(max(abs(scaled_dot_product_attention(q, q, q, hidden)))).to_double(), 0);
}

// Channels side by side: pools of packs; convolutions of three channels, which are filled up to a pack where results
// are large.
TEST_F(Gpu, PicturesWithChannelsLast) {
  const auto last = [](const Tensor& t) { return contiguous(t, MemoryFormat::channels_last); };
  const std::vector<int64_t> two = {2, 2}, three = {3, 3}, one = {1, 1};
  for (const DType dtype : {DType::float32, DType::bfloat16, DType::float16}) {
    const Tensor x = to(last(randn({2, 64, 33, 30})), dtype);
    const auto [want, want_places] = max_pool2d_with_indices(x, three, two, one);
    const auto [got, places] = max_pool2d_with_indices(up(x), three, two, one);
    EXPECT_TRUE(got.is_contiguous(MemoryFormat::channels_last));
    EXPECT_TRUE(equal(down(got), want)) << dtype_name(dtype);
    EXPECT_TRUE(equal(down(places), want_places)) << dtype_name(dtype);
  }
  const Tensor x = randn({4, 3, 128, 128}), w = div(randn({64, 3, 7, 7}), Scalar(12)), b = randn({64});
  const Tensor want = conv2d(x, w, b, two, three);
  set_convolution_tf32(true);
  for (const DType dtype : {DType::float32, DType::bfloat16}) {
    const auto there = [&](const Tensor& t) { return up(to(t, dtype)); };
    const Tensor got = conv2d(last(there(x)), last(there(w)), there(b), two, three);
    EXPECT_TRUE(got.is_contiguous(MemoryFormat::channels_last));
    EXPECT_LT(distance(to(got, DType::float32), want), dtype == DType::float32 ? 0.01 : 0.06) << dtype_name(dtype);
  }
  set_convolution_tf32(false);
}

// SCONCE_GPU_STEPS: more of them.
TEST_F(Gpu, MemoryDoesNotGrow) {
  const char* wanted = std::getenv("SCONCE_GPU_STEPS");
  const int steps = wanted ? std::atoi(wanted) : 1000;
  const Tensor w = up(randn({64, 64}));
  size_t reserved = 0;
  for (int i = 0; i < steps; ++i) {
    Tensor x = w;
    for (int k = 0; k < 3; ++k) x = relu(add(mul(x, w), Scalar(0.1)));
    if (i == 10) reserved = cuda::memory_statistics(kGpu).reserved;
  }
  EXPECT_EQ(cuda::memory_statistics(kGpu).reserved, reserved);
}

TEST_F(Gpu, ResultsAreTheSameFromRunToRun) {
  const Tensor x = up(randn({300, 1001}));
  const std::vector<int64_t> rows = {0};
  const Tensor first = down(sum(x, IntList(rows))), whole = down(sum(x));
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(equal(down(sum(x, IntList(rows))), first));
    EXPECT_TRUE(equal(down(sum(x)), whole));
  }
}

}  // namespace
}  // namespace sconce
