// Convolutions of tensors, where eager calls choose an algorithm.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "sconce/base/parallel.h"
#include "sconce/kernels/cpu/engine/scratch.h"
#include "sconce/ops.h"

namespace sconce {
namespace {

double largest_difference(const Tensor& a, const Tensor& b) { return item_of(max(abs(sub(a, b)))).to_double(); }

// What kernels take from this thread's scratch memory is NaN then, until it is written.
void leave_nan_in_scratch() {
  constexpr int64_t count = 200 * 1024;  // of the smallest block
  Scratch scratch;
  std::fill_n(scratch.take<float>(count), count, std::numeric_limits<float>::quiet_NaN());
}

// Channels in whole vectors, a 3 x 3 kernel and many pixels: Winograd's, in float32.
struct Example {
  Tensor x = rand({3, 32, 13, 14}, DType::float64), w = sub(rand({48, 32, 3, 3}, DType::float64), 0.5),
         b = rand({48}, DType::float64);
  Example() { manual_seed(3); }
  static Tensor narrow(const Tensor& t, MemoryFormat format) { return contiguous(to(t, DType::float32), format); }
};

TEST(Convolution, WinogradAgreesWithSums) {
  manual_seed(3);
  const Example e;
  for (const MemoryFormat format : {MemoryFormat::contiguous, MemoryFormat::channels_last}) {
    const Tensor x = Example::narrow(e.x, format), w = Example::narrow(e.w, format), b = to(e.b, DType::float32);
    for (const int threads : {1, 2}) {
      set_num_threads(threads);
      const Tensor y = conv2d(x, w, b, {1, 1}, {1, 1});
      EXPECT_LT(largest_difference(conv2d(e.x, e.w, e.b, {1, 1}, {1, 1}), to(y, DType::float64)), 1e-5);
      EXPECT_EQ(y.strides(), conv2d(contiguous(e.x, format), contiguous(e.w, format), e.b, {1, 1}, {1, 1}).strides());
      const Tensor g = to(y, DType::float64);
      const auto want = convolution_backward(g, e.x, e.w, std::nullopt, {1, 1}, {1, 1}, {1, 1}, false, {0, 0}, 1,
                                             std::array<bool, 3>{true, true, true});
      const auto got = convolution_backward(y, x, w, std::nullopt, {1, 1}, {1, 1}, {1, 1}, false, {0, 0}, 1,
                                            std::array<bool, 3>{true, true, true});
      const double scale = item_of(max(abs(std::get<1>(want)))).to_double();
      EXPECT_LT(largest_difference(std::get<0>(want), std::get<0>(got)), 1e-4);
      EXPECT_LT(largest_difference(std::get<1>(want), std::get<1>(got)), 1e-6 * scale);
      EXPECT_LT(largest_difference(std::get<2>(want), std::get<2>(got)), 1e-6 * scale);
    }
    set_num_threads(1);
  }
}

// Winograd's algorithm cuts planar results into rows. For transposed convolutions the rows are those of the plain form.
TEST(Convolution, TransposedWinogradIsCutIntoRows) {
  manual_seed(3);
  const Tensor x = rand({1, 16, 48, 46}, DType::float64), w = sub(rand({16, 32, 3, 3}, DType::float64), 0.5);
  for (const int64_t padding : {0, 1, 2}) {
    const Tensor y = conv_transpose2d(to(x, DType::float32), to(w, DType::float32), {}, {1, 1}, {padding, padding});
    const Tensor expected = conv_transpose2d(x, w, {}, {1, 1}, {padding, padding});
    EXPECT_LT(largest_difference(expected, to(y, DType::float64)), 1e-4) << padding;
    const Tensor g = rand({1, 32, 50 - 2 * padding, 48 - 2 * padding}, DType::float64);
    const auto gradient = [&](DType dtype) {  // of the convolution whose transpose that is
      return std::get<0>(convolution_backward(to(x, dtype), to(g, dtype), to(w, dtype), std::nullopt, {1, 1},
                                              {padding, padding}, {1, 1}, false, {0, 0}, 1,
                                              std::array<bool, 3>{true, false, false}));
    };
    EXPECT_LT(largest_difference(gradient(DType::float64), to(gradient(DType::float32), DType::float64)), 1e-4);
  }
}

// Rows that are fewer than the parts that their pixels would make.
TEST(Convolution, WeightGradientsOfFewLongRows) {
  manual_seed(3);
  struct Shape {
    std::vector<int64_t> x, w;
    int64_t stride, groups;
  };
  const Shape shapes[] = {{{1, 16, 6000}, {32, 16, 3}, 1, 1},
                          {{1, 16, 16000}, {96, 16, 3}, 2, 1},
                          {{4, 48, 4000}, {48, 24, 3}, 1, 2},
                          {{3, 4, 1, 5000}, {20, 4, 1, 5}, 1, 1},
                          {{3, 4, 2, 9000}, {20, 4, 2, 5}, 3, 1}};
  for (const Shape& shape : shapes) {
    const std::vector<int64_t> stride(shape.x.size() - 2, shape.stride), zero(stride.size(), 0), one(stride.size(), 1);
    const Tensor x = sub(rand(shape.x, DType::float64), 0.5), w = rand(shape.w, DType::float64);
    const Tensor y = convolution(x, w, {}, stride, zero, one, false, zero, shape.groups);
    const Tensor g = sub(rand(y.sizes(), DType::float64), 0.5);
    const auto gradient = [&](DType dtype) {
      leave_nan_in_scratch();
      return std::get<1>(convolution_backward(to(g, dtype), to(x, dtype), to(w, dtype), std::nullopt, stride, zero, one,
                                              false, zero, shape.groups, std::array<bool, 3>{false, true, false}));
    };
    const Tensor expected = gradient(DType::float64), got = gradient(DType::float32);
    EXPECT_LT(largest_difference(expected, to(got, DType::float64)), 1e-3);
  }
}

// Few pixels and a large kernel, and images one pixel wide. (PyTorch 2.13's gradients of these two are NaN, or numbers
// of memory that nobody wrote, by oneDNN on processors with AVX512_BF16: they are no reference.)
TEST(Convolution, WeightGradientsInBfloat16AreFinite) {
  manual_seed(3);
  struct Shape {
    std::vector<int64_t> x, w;
    int64_t stride, padding;
  };
  for (const Shape& shape : {Shape{{1, 192, 2, 12}, {40, 192, 7, 7}, 1, 3}, {{4, 96, 96, 1}, {256, 96, 3, 3}, 3, 1}}) {
    const std::vector<int64_t> stride(2, shape.stride), padding(2, shape.padding);
    const auto rounded = [](const Tensor& t) { return to(to(sub(t, 0.5), DType::bfloat16), DType::float64); };
    const Tensor x = rounded(rand(shape.x, DType::float64)), w = rounded(rand(shape.w, DType::float64));
    const Tensor g = rounded(rand(conv2d(x, w, {}, stride, padding).sizes(), DType::float64));
    const auto gradient = [&](DType dtype) {
      leave_nan_in_scratch();
      return std::get<1>(convolution_backward(to(g, dtype), to(x, dtype), to(w, dtype), std::nullopt, stride, padding,
                                              {1, 1}, false, {0, 0}, 1, std::array<bool, 3>{false, true, false}));
    };
    const Tensor expected = gradient(DType::float64), got = to(gradient(DType::bfloat16), DType::float64);
    EXPECT_LT(largest_difference(expected, got), 0.005 * item_of(max(abs(expected))).to_double());
  }
}

// Weights are packed in other ways, to the same panels: whole ones, and parts of one.
TEST(Convolution, GradientsDoNotDependOnTheOrderOfWeights) {
  manual_seed(3);
  for (const DType dtype : {DType::float32, DType::float64, DType::bfloat16}) {
    for (const int64_t channels : {7, 32, 40, 64}) {
      const Tensor x = to(rand({2, channels, 9, 9}), dtype), g = to(rand({2, 6, 5, 5}), dtype);
      const Tensor w = to(sub(rand({6, channels, 3, 3}), 0.5), dtype);
      const auto gradients = [&](const Tensor& weight) {
        return convolution_backward(g, x, weight, std::nullopt, {2, 2}, {1, 1}, {1, 1}, false, {0, 0}, 1,
                                    std::array<bool, 3>{true, true, false});
      };
      const auto expected = gradients(contiguous(w, MemoryFormat::channels_last)), got = gradients(w);
      EXPECT_TRUE(equal(std::get<0>(got), std::get<0>(expected))) << dtype_name(dtype) << " " << channels;
      EXPECT_TRUE(equal(std::get<1>(got), std::get<1>(expected))) << dtype_name(dtype) << " " << channels;
    }
  }
}

// Where an image is cut into tiles decides the order of sums, so it must be the same for any number of threads.
TEST(Convolution, SameBitsForAnyNumberOfThreads) {
  manual_seed(3);
  struct Shape {
    std::vector<int64_t> x, w;
    int64_t stride, padding;
  };
  const Shape shapes[] = {{{1, 64, 13, 13}, {256, 64, 3, 3}, 1, 1}, {{1, 64, 56, 56}, {64, 64, 3, 3}, 1, 1},
                          {{1, 3, 112, 112}, {16, 3, 3, 3}, 2, 1},  {{1, 3, 112, 112}, {64, 3, 7, 7}, 2, 3},
                          {{3, 64, 28, 28}, {128, 64, 3, 3}, 2, 1}, {{2, 16, 27, 27}, {48, 16, 1, 1}, 1, 0},
                          {{1, 12, 40, 40}, {24, 12, 5, 5}, 1, 2}};
  for (const Shape& shape : shapes) {
    const Tensor x = rand(shape.x), w = sub(rand(shape.w), 0.5);
    const auto run = [&](int threads) {
      set_num_threads(threads);
      return conv2d(x, w, {}, {shape.stride, shape.stride}, {shape.padding, shape.padding});
    };
    const Tensor one = run(1);
    for (const int threads : {2, 3, 4, 8}) EXPECT_TRUE(equal(one, run(threads))) << threads << " threads";
    set_num_threads(1);
  }
}

TEST(Convolution, InfinitiesReachWhatSeesThem) {
  manual_seed(3);
  const Example e;
  for (const MemoryFormat format : {MemoryFormat::contiguous, MemoryFormat::channels_last}) {
    const Tensor x = Example::narrow(e.x, format), w = Example::narrow(e.w, format);
    fill_(select(select(select(select(x, 0, 1), 0, 7), 0, 4), 0, 6), std::numeric_limits<double>::infinity());
    const Tensor finite = isfinite(conv2d(x, w, {}, {1, 1}, {1, 1}));
    EXPECT_EQ(item_of(sum(logical_not(finite))).to_int(), 48 * 9);
    EXPECT_FALSE(item_of(any(select(select(select(finite, 0, 1), 1, 3), 1, 5))).to_bool());
  }
}

}  // namespace
}  // namespace sconce
