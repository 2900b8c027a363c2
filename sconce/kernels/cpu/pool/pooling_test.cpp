// What recorded cases do not show of pooling, resizing and sampling: refusals, threads, and both layouts agreeing.
#include <gtest/gtest.h>

#include <cmath>

#include "sconce/base/parallel.h"
#include "sconce/ops.h"
#include "sconce/testing/error_of.h"

namespace sconce {
namespace {

Tensor filled(IntList sizes, int seed = 0) {
  Tensor t = empty_tensor(sizes, DType::float32);
  for (int64_t i = 0; i < t.numel(); ++i) {
    t.data<float>()[i] = static_cast<float>((i * 7919 + seed * 104729) % 2003) / 1000.0f - 1.0f;
  }
  return t;
}
Tensor places(IntList sizes, int64_t value) {
  Tensor t = empty_tensor(sizes, DType::int64);
  std::fill_n(t.data<int64_t>(), t.numel(), value);
  return t;
}

void expect_same(const Tensor& a, const Tensor& b, const char* what) {
  ASSERT_EQ(a.sizes(), b.sizes()) << what;
  EXPECT_TRUE(equal(a, b)) << what;
}

TEST(Pooling, refuses_what_does_not_fit) {
  const Tensor x = filled({1, 2, 6, 6});
  EXPECT_ERROR(max_pool2d(x, {2, 2}, {2, 2}, {2, 2}), "pad should be at most half");
  EXPECT_ERROR(max_pool2d(x, {2, 2}, {0, 2}), "stride should be greater than zero");
  EXPECT_ERROR(avg_pool2d(x, {7, 7}, {1, 1}), "calculated output size is too small");
  EXPECT_ERROR(avg_pool2d(x, {2, 2}, {2, 2}, {0, 0}, false, true, 0), "divisor must be not zero");
  EXPECT_ERROR(max_pool2d(empty_tensor({1, 1, 4, 4}, DType::bool_), {2, 2}), "not implemented for 'Bool'");
  EXPECT_ERROR(avg_pool2d(empty_tensor({1, 1, 4, 4}, DType::int32), {2, 2}), "not implemented for 'Int'");
  EXPECT_ERROR(_adaptive_avg_pool2d(x, {-1, 2}), "greater than or equal to 0");
  EXPECT_ERROR(max_pool2d_with_indices_backward(filled({1, 2, 3, 3}), x, {2, 2}, {2, 2}, {0, 0}, {1, 1}, false,
                                                places({1, 2, 3, 3}, 36)),
               "invalid max index 36");
  EXPECT_ERROR(max_pool2d_with_indices_backward(filled({1, 2, 2, 3}), x, {2, 2}, {2, 2}, {0, 0}, {1, 1}, false,
                                                places({1, 2, 2, 3}, 0)),
               "expected grad_output of shape [1, 2, 3, 3]");
  EXPECT_ERROR(max_unpool2d(filled({1, 2, 2, 2}), places({1, 2, 2, 2}, -1), {4, 4}), "Found an invalid max index: -1");
  EXPECT_ERROR(fractional_max_pool2d(x, {4, 2}, {4, 2}, filled({1, 2, 2})), "pool height 4 too large");
}

TEST(Resizing, refuses_what_does_not_fit) {
  const Tensor x = filled({1, 2, 6, 6});
  EXPECT_ERROR(upsample_bilinear2d(x, {0, 3}, false), "should be greater than 0");
  EXPECT_ERROR(upsample_nearest2d(empty_tensor({1, 1, 4, 4}, DType::int32), {2, 2}), "not implemented for 'Int'");
  EXPECT_ERROR(upsample_nearest2d_backward(x, {5, 6}, {1, 2, 3, 3}),
               "output.size(2) = 5 but got grad_output.size(2) = 6");
}

TEST(GridSampler, refuses_what_does_not_fit) {
  const Tensor x = filled({1, 2, 6, 6}), grid = filled({1, 3, 3, 2});
  EXPECT_ERROR(grid_sampler_2d(x, grid, 5, 0, false), "interpolation_mode must be 0, 1 or 2, got 5");
  EXPECT_ERROR(grid_sampler_2d(x, filled({2, 3, 3, 2}), 0, 0, false), "same batch size");
  EXPECT_ERROR(grid_sampler_2d(x, filled({1, 3, 3, 3}), 0, 0, false), "size 2 in last dimension");
  EXPECT_ERROR(grid_sampler_3d(filled({1, 1, 2, 2, 2}), filled({1, 2, 2, 2, 3}), 2, 0, false),
               "bicubic interpolation only supports 4D");
}

// Every result is the same with two threads, and from channels_last memory.
TEST(Pooling, agrees_across_threads_and_layouts) {
  struct Call {
    const char* name;
    Tensor (*run)(const Tensor&);
  };
  const Call calls[] = {
      {"max 3x3", [](const Tensor& x) { return max_pool2d(x, {3, 3}, {2, 2}, {1, 1}); }},
      {"max 2x3 dilated", [](const Tensor& x) { return max_pool2d(x, {2, 3}, {1, 3}, {1, 1}, {2, 1}, true); }},
      {"adaptive max", [](const Tensor& x) { return std::get<0>(adaptive_max_pool2d(x, {5, 4})); }},
      {"average 3x3", [](const Tensor& x) { return avg_pool2d(x, {3, 3}, {2, 2}, {1, 1}); }},
      {"adaptive average", [](const Tensor& x) { return _adaptive_avg_pool2d(x, {5, 4}); }},
      {"mean of planes", [](const Tensor& x) { return _adaptive_avg_pool2d(x, {1, 1}); }},
      {"nearest", [](const Tensor& x) { return upsample_nearest2d(x, {50, 71}); }},
      {"grid", [](const Tensor& x) { return grid_sampler_2d(x, filled({2, 40, 50, 2}, 3), 0, 1, false); }},
  };
  const Tensor x = filled({2, 35, 29, 37}), last = contiguous(x, MemoryFormat::channels_last);
  for (const Call& call : calls) {
    const Tensor one = call.run(x);
    set_num_threads(2);
    const Tensor two = call.run(x), other = call.run(last);
    set_num_threads(1);
    expect_same(one, two, call.name);
    expect_same(one, other, call.name);
  }
  // Sums may be taken in another order.
  const auto close = [](const Tensor& a, const Tensor& b) { return allclose(a, b, 1e-5, 1e-6); };
  EXPECT_TRUE(close(upsample_bilinear2d(x, {11, 90}, true), upsample_bilinear2d(last, {11, 90}, true)));
  EXPECT_TRUE(close(upsample_bicubic2d(x, {60, 20}, false), upsample_bicubic2d(last, {60, 20}, false)));
}

// Planes of fewer pixels than a vector has lanes, of whole vectors, and of a part of one more; more channels than are
// summed together; numbers of 16 bits.
TEST(Pooling, means_of_planes_have_one_order) {
  for (const auto& [height, width] : {std::pair<int64_t, int64_t>{1, 3}, {2, 8}, {7, 7}, {5, 13}, {4, 16}}) {
    for (const DType dtype : {DType::float32, DType::float64, DType::bfloat16}) {
      const Tensor x = to(filled({2, 133, height, width}), dtype);
      expect_same(_adaptive_avg_pool2d(x, {1, 1}),
                  _adaptive_avg_pool2d(contiguous(x, MemoryFormat::channels_last), {1, 1}), "mean");
    }
  }
}

// Sums of many numbers of 16 bits are not rounded on the way: the mean of a whole volume is a mean.
TEST(Pooling, means_of_volumes_are_exact_in_16_bits) {
  for (const DType dtype : {DType::bfloat16, DType::float16}) {
    const Tensor x = full({1, 2, 16, 20, 24}, 0.75, dtype);
    expect_same(adaptive_avg_pool3d(x, {1, 1, 1}), full({1, 2, 1, 1, 1}, 0.75, dtype), "mean of a volume");
    expect_same(adaptive_avg_pool3d(contiguous(x, MemoryFormat::channels_last_3d), {1, 1, 1}),
                full({1, 2, 1, 1, 1}, 0.75, dtype), "mean of a volume, channels last");
  }
}

// Against PyTorch 2.13.
TEST(Resizing, lanczos_looks_three_pixels_around) {
  Tensor x = empty_tensor({1, 1, 5, 7}, DType::float32);
  for (int i = 0; i < 35; ++i) x.data<float>()[i] = std::sin(static_cast<float>(i));
  const auto expect = [](const Tensor& got, std::initializer_list<float> first) {
    for (size_t i = 0; i < first.size(); ++i) {
      EXPECT_NEAR(got.data<float>()[i], first.begin()[i], 1e-5) << i;
    }
  };
  const Tensor small = _upsample_lanczos2d_aa(x, {3, 4}, false);
  expect(small, {0.6102042f, 0.6720409f, -0.8099375f, -0.4287595f, 0.9024481f, -0.3745852f});
  expect(_upsample_lanczos2d_aa(x, {7, 9}, true), {-0.1101361f, 0.4341987f, 1.0473297f, 0.8826292f});
  expect(_upsample_lanczos2d_aa_backward(small, {3, 4}, {1, 1, 5, 7}, false), {0.1300583f, 0.2570571f, 0.2492480f});
}

// max_unpool2d puts back what max_pool2d took out.
TEST(Pooling, unpools_to_the_same_places) {
  const Tensor x = filled({2, 3, 8, 10});
  const auto [values, indices] = max_pool2d_with_indices(x, {2, 2});
  const Tensor back = max_unpool2d(values, indices, {8, 10});
  expect_same(std::get<0>(max_pool2d_with_indices(back, {2, 2})), where(gt(values, 0), values, zeros_like(values)),
              "unpooled");
}

}  // namespace
}  // namespace sconce
