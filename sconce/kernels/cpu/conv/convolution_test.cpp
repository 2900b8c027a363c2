// Convolutions of tensors, where eager calls choose an algorithm.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "sconce/base/parallel.h"
#include "sconce/ops.h"

namespace sconce {
namespace {

double largest_difference(const Tensor& a, const Tensor& b) { return item_of(max(abs(sub(a, b)))).to_double(); }

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
