// Plans and weight gradients against direct sums in double.
#include "sconce/kernels/cpu/conv/conv_plan.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>
#include <vector>

#include "sconce/base/error.h"
#include "sconce/base/parallel.h"
#include "sconce/kernels/cpu/conv/conv_gradient.h"
#include "sconce/kernels/cpu/engine/cpu_level.h"

namespace sconce {
namespace {

std::vector<float> numbers(int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> out(static_cast<size_t>(count) + 64);
  for (float& x : out) x = static_cast<float>(random() % 2001) / 1000 - 1;
  return out;
}

ConvShape square(int64_t batch, int64_t in, int64_t size, int64_t out, int64_t kernel, int64_t stride, int64_t padding,
                 int64_t groups = 1, int64_t dilation = 1) {
  ConvShape s;
  s.batch = batch;
  s.in_channels = in;
  s.out_channels = out;
  s.groups = groups;
  for (int i = 0; i < 2; i++) {
    s.in[i] = size + i;
    s.kernel[i] = kernel;
    s.stride[i] = stride;
    s.padding[i] = padding;
    s.dilation[i] = dilation;
  }
  s.infer_output();
  return s;
}

// Calls f(pixel of y, pixel of x, tap) for every pair that meets.
template <class F>
void for_each_meeting(const ConvShape& s, F&& f) {
  for (int64_t n = 0; n < s.batch; n++) {
    for (int64_t oh = 0; oh < s.out[0]; oh++) {
      for (int64_t ow = 0; ow < s.out[1]; ow++) {
        for (int64_t tap = 0; tap < s.kernel[0] * s.kernel[1]; tap++) {
          const int64_t h = oh * s.stride[0] - s.padding[0] + tap / s.kernel[1] * s.dilation[0];
          const int64_t w = ow * s.stride[1] - s.padding[1] + tap % s.kernel[1] * s.dilation[1];
          if (h < 0 || h >= s.in[0] || w < 0 || w >= s.in[1]) continue;
          f((n * s.out[0] + oh) * s.out[1] + ow, (n * s.in[0] + h) * s.in[1] + w, tap);
        }
      }
    }
  }
}

struct Aligned {
  explicit Aligned(size_t bytes) : data(operator new(bytes + 64, std::align_val_t{64})) {}
  ~Aligned() { operator delete(data, std::align_val_t{64}); }
  void* data;
};

std::vector<double> expected(const ConvShape& s, const std::vector<float>& x, const std::vector<float>& w) {
  const int64_t in_group = s.in_channels / s.groups, out_group = s.out_channels / s.groups,
                taps = s.kernel[0] * s.kernel[1];
  std::vector<double> y(static_cast<size_t>(s.batch * s.out[0] * s.out[1] * s.out_channels), 0);
  for_each_meeting(s, [&](int64_t out, int64_t in, int64_t tap) {
    for (int64_t o = 0; o < s.out_channels; o++) {
      for (int64_t i = 0; i < in_group; i++) {
        y[static_cast<size_t>(out * s.out_channels + o)] +=
            static_cast<double>(x[static_cast<size_t>(in * s.in_channels + o / out_group * in_group + i)]) *
            w[static_cast<size_t>((o * in_group + i) * taps + tap)];
      }
    }
  });
  return y;
}

void check_plan(const ConvPlan& plan, double tolerance) {
  const ConvShape& s = plan.shape;
  const int64_t pixels = s.batch * s.out[0] * s.out[1], in_group = s.in_channels / s.groups,
                taps = s.kernel[0] * s.kernel[1];
  const auto x = numbers(s.batch * s.in[0] * s.in[1] * s.in_channels, 1),
             w = numbers(s.out_channels * in_group * taps, 2), bias = numbers(s.out_channels, 3),
             residual = numbers(pixels * s.out_channels, 4), scale = numbers(s.out_channels, 5),
             shift = numbers(s.out_channels, 6);
  Aligned packed(plan.packed_bytes);
  const int64_t strides[] = {in_group * taps, taps, s.kernel[1], 1};
  plan.pack(w.data(), strides, packed.data);
  Epilogue epilogue;
  epilogue.bias = bias.data();
  epilogue.scale = scale.data();
  epilogue.shift = shift.data();
  epilogue.residual = residual.data();
  epilogue.residual_stride = s.out_channels;
  epilogue.lo = -1;
  epilogue.hi = 1.5;
  std::vector<float> whole(static_cast<size_t>(pixels * s.out_channels) + 1, 77.f), parts = whole;
  plan.run(x.data(), packed.data, whole.data(), epilogue);
  for (int64_t row = 0; row < plan.rows(); row += 3) {
    plan.run_rows(x.data(), packed.data, parts.data(), epilogue, {row, std::min(row + 3, plan.rows())});
  }
  EXPECT_EQ(whole.back(), 77.f);
  const std::vector<double> y = expected(s, x, w);
  for (size_t i = 0; i < y.size(); i++) {
    const size_t channel = i % static_cast<size_t>(s.out_channels);
    const double value = (y[i] + bias[channel]) * scale[channel] + shift[channel] + residual[i];
    const double clamped = std::min(std::max(value, -1.0), 1.5);
    ASSERT_NEAR(whole[i], clamped, tolerance) << algorithm_name(plan.algorithm) << " element " << i;
    ASSERT_NEAR(parts[i], clamped, tolerance) << algorithm_name(plan.algorithm) << " by rows, element " << i;
  }
}

// An image in planes gives the bits of the same image with channels innermost.
TEST(ConvPlan, reads_few_channels_in_planes) {
  for (const int64_t channels : {1, 2, 3, 4, 7, 15}) {
    for (const auto& [kernel, stride, padding] : {std::array<int64_t, 3>{3, 2, 1}, {7, 2, 3}, {2, 1, 0}, {3, 3, 5}}) {
      ConvShape shape = square(2, channels, 17, 9, kernel, stride, padding);
      ASSERT_TRUE(conv_takes_planes(shape));
      const int64_t pixels = shape.in[0] * shape.in[1], results = shape.batch * shape.out[0] * shape.out[1] * 9;
      const auto innermost = numbers(shape.batch * pixels * channels, 1),
                 w = numbers(9 * channels * kernel * kernel, 2);
      std::vector<float> planes = innermost;
      for (int64_t i = 0; i < shape.batch * pixels * channels; i++) {
        const int64_t n = i / pixels / channels, pixel = i / channels % pixels, c = i % channels;
        planes[static_cast<size_t>((n * channels + c) * pixels + pixel)] = innermost[static_cast<size_t>(i)];
      }
      const int64_t strides[] = {channels * kernel * kernel, kernel * kernel, kernel, 1};
      std::vector<float> y[2];
      for (const bool in_planes : {false, true}) {
        shape.planes = in_planes;
        const ConvPlan plan = plan_conv(shape, DType::float32, ConvAlgorithm::direct);
        Aligned packed(plan.packed_bytes);
        plan.pack(w.data(), strides, packed.data);
        y[in_planes].resize(static_cast<size_t>(results));
        plan.run(in_planes ? planes.data() : innermost.data(), packed.data, y[in_planes].data());
      }
      EXPECT_EQ(y[0], y[1]) << channels << " channels, kernel " << kernel;
    }
  }
}

TEST(ConvPlan, Winograd) {
  for (int level = 2; level <= cpu_level(); level++) {
    for (int64_t size : {3, 5, 7, 14, 20}) {
      const ConvShape s = square(2, 32, size, 48, 3, 1, 1);
      check_plan(plan_conv(s, DType::float32, ConvAlgorithm::winograd2, matrix_kernels(level)), 1e-4);
      check_plan(plan_conv(s, DType::float32, ConvAlgorithm::winograd4, matrix_kernels(level)), 1e-3);
    }
    check_plan(
        plan_conv(square(1, 16, 9, 16, 3, 1, 0), DType::float32, ConvAlgorithm::winograd2, matrix_kernels(level)),
        1e-4);
  }
}

TEST(ConvPlan, OtherAlgorithms) {
  for (const ConvShape& s :
       {square(2, 3, 17, 33, 7, 2, 3), square(1, 20, 9, 40, 3, 2, 1), square(2, 24, 8, 40, 1, 1, 0),
        square(2, 40, 11, 40, 5, 1, 2, 40), square(1, 24, 9, 36, 3, 1, 1, 4)}) {
    check_plan(plan_conv(s, DType::float32), 1e-4);
  }
}

TEST(ConvPlan, ResultsDoNotDependOnThreads) {
  const ConvShape s = square(1, 64, 28, 64, 3, 1, 1);
  const ConvPlan plan = plan_conv(s, DType::float32, Numerics::standard);
  EXPECT_EQ(plan.algorithm, ConvAlgorithm::winograd2);
  const auto x = numbers(s.in[0] * s.in[1] * 64, 1), w = numbers(64 * 64 * 9, 2);
  Aligned packed(plan.packed_bytes);
  const int64_t strides[] = {64 * 9, 9, 3, 1};
  plan.pack(w.data(), strides, packed.data);
  std::vector<float> one(static_cast<size_t>(s.out[0] * s.out[1] * 64)), two = one;
  plan.run(x.data(), packed.data, one.data());
  set_num_threads(3);
  plan.run(x.data(), packed.data, two.data());
  set_num_threads(1);
  EXPECT_EQ(one, two);
}

TEST(ConvPlan, Chooses) {
  const auto chosen = [](const ConvShape& s, Numerics n, size_t budget = SIZE_MAX) {
    return plan_conv(s, DType::float32, n, budget).algorithm;
  };
  const ConvShape wide = square(1, 64, 56, 64, 3, 1, 1), deep = square(1, 512, 7, 512, 3, 1, 1);
  EXPECT_EQ(chosen(wide, Numerics::exact), ConvAlgorithm::direct);
  EXPECT_EQ(chosen(wide, Numerics::standard), ConvAlgorithm::winograd2);
  EXPECT_EQ(chosen(wide, Numerics::fast), ConvAlgorithm::winograd4);
  EXPECT_EQ(chosen(deep, Numerics::fast), ConvAlgorithm::winograd2);
  EXPECT_EQ(chosen(deep, Numerics::fast, 1000), ConvAlgorithm::direct);
  EXPECT_EQ(chosen(square(1, 64, 56, 64, 3, 2, 1), Numerics::fast), ConvAlgorithm::direct);
  EXPECT_EQ(chosen(square(1, 64, 56, 64, 1, 1, 0), Numerics::fast), ConvAlgorithm::product);
  EXPECT_EQ(chosen(square(1, 64, 56, 64, 3, 1, 1, 64), Numerics::fast), ConvAlgorithm::depthwise);
  EXPECT_THROW(plan_conv(square(1, 5, 9, 16, 3, 1, 1), DType::float32, ConvAlgorithm::winograd2), Error);
}

TEST(ConvGradient, Weights) {
  for (int level = 2; level <= cpu_level(); level++) {
    for (const ConvShape& s :
         {square(2, 3, 17, 33, 7, 2, 3), square(3, 20, 9, 40, 3, 1, 1), square(2, 24, 8, 40, 1, 1, 0),
          square(2, 40, 11, 40, 5, 1, 2, 40), square(2, 19, 11, 19, 3, 2, 1, 19), square(1, 24, 9, 36, 3, 1, 2, 4, 2),
          square(2, 18, 6, 18, 4, 3, 3, 18, 2), square(2, 17, 3, 17, 5, 1, 4, 17, 1), square(3, 32, 13, 48, 3, 1, 1),
          square(9, 48, 9, 16, 3, 1, 0), square(2, 37, 30, 19, 3, 2, 1), square(1, 5, 60, 12, 4, 1, 3, 1, 2)}) {
      const int64_t in_group = s.in_channels / s.groups, out_group = s.out_channels / s.groups,
                    taps = s.kernel[0] * s.kernel[1];
      const auto x = numbers(s.batch * s.in[0] * s.in[1] * s.in_channels, 1),
                 grad = numbers(s.batch * s.out[0] * s.out[1] * s.out_channels, 2);
      std::vector<double> want(static_cast<size_t>(s.out_channels * taps * in_group), 0);
      for_each_meeting(s, [&](int64_t out, int64_t in, int64_t tap) {
        for (int64_t o = 0; o < s.out_channels; o++) {
          for (int64_t i = 0; i < in_group; i++) {
            want[static_cast<size_t>((o * taps + tap) * in_group + i)] +=
                static_cast<double>(grad[static_cast<size_t>(out * s.out_channels + o)]) *
                x[static_cast<size_t>(in * s.in_channels + o / out_group * in_group + i)];
          }
        }
      });
      std::vector<float> got(want.size() + 1, 77.f);
      conv_weight_gradient(s, DType::float32, x.data(), grad.data(), got.data(), matrix_kernels(level));
      for (size_t i = 0; i < want.size(); i++)
        ASSERT_NEAR(got[i], want[i], 1e-4) << "level " << level << " element " << i;
      EXPECT_EQ(got.back(), 77.f);
    }
  }
}

// Winograd's tiles would spread them.
TEST(ConvGradient, InfinitiesReachTheirWeightsOnly) {
  const ConvShape s = square(2, 16, 16, 16, 3, 1, 1);
  auto x = numbers(s.batch * s.in[0] * s.in[1] * s.in_channels, 1);
  const auto grad = numbers(s.batch * s.out[0] * s.out[1] * s.out_channels, 2);
  x[5] = std::numeric_limits<float>::infinity();  // of the first pixel, which three times three taps do not see
  std::vector<float> got(static_cast<size_t>(16 * 9 * 16));
  conv_weight_gradient(s, DType::float32, x.data(), grad.data(), got.data());
  for (size_t i = 0; i < got.size(); i++) {
    const bool seen = i % 16 == 5 && i / 16 % 3 < 2 && i / 48 % 3 < 2;
    EXPECT_EQ(std::isfinite(got[i]), !seen) << "at " << i;
  }
}

}  // namespace
}  // namespace sconce
