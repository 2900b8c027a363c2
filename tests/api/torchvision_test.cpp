// The bundled extensions/torchvision, loaded as a program would load it, against numbers recorded from torchvision
// 0.28.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "sconce/dispatch/library.h"
#include "sconce/dispatch/registry.h"

namespace sconce {
namespace {

// Of a result's elements: the first six, the sum, and the sum of v[i] * ((i + 1) % 7 + 1).
struct Recorded {
  const char* name;
  std::vector<double> first;
  double sum, weighted;
};
const std::vector<Recorded> kRecorded = {
    {"roi_align 0 -1",
     {-0.083916015625, 0.08062499999999997, -0.44625000000000004, -0.223125, 0.12881835937499997, -0.15640625000000005},
     -6.588203125000001,
     -27.155006510416676},
    {"roi_align_backward 0 -1",
     {-0.097099609375, -0.11222167968749999, -0.019897460937499997, 0.0, 0.0, 0.0},
     -0.060000000000000275,
     -1.8221126302083315},
    {"roi_align 0 2",
     {-0.083916015625, 0.08062499999999997, -0.44625000000000004, -0.223125, 0.12881835937499997, -0.15640625000000005},
     -6.846162109375,
     -28.65362955729167},
    {"roi_align_backward 0 2",
     {-0.1167578125, -0.13494140624999998, -0.023925781249999993, 0.0, 0.0, 0.0},
     -0.05999999999999961,
     -1.3688704427083325},
    {"roi_align 1 -1",
     {-0.24484375000000003, 0.285625, -0.43062500000000004, 0.17125000000000004, 0.039892578125, -0.32423828125000004},
     2.2794558105468767,
     12.683121337890636},
    {"roi_align_backward 1 -1",
     {-0.334632568359375, -0.02514160156249998, 0.061844482421875, -0.038847656249999994, -0.009667968749999999, 0.0},
     0.5800000000000005,
     -0.9517557617187506},
    {"roi_align 1 2",
     {-0.24484375000000003, 0.285625, -0.43062500000000004, 0.17125000000000004, 0.039892578125, -0.32423828125000004},
     2.062318359374999,
     11.105859374999994},
    {"roi_align_backward 1 2",
     {-0.37828124999999996, -0.03349609374999998, 0.060605468749999995, -0.038847656249999994, -0.009667968749999999,
      0.0},
     0.5800000000000012,
     -0.6048734374999931},
    {"roi_pool",
     {0.96, 0.56, 0.020000000000000018, 0.8200000000000001, 0.8799999999999999, 0.8799999999999999},
     91.96,
     357.58},
    {"roi_pool argmax", {16.0, 10.0, 12.0, 24.0, 35.0, 35.0}, 3426.0, 13629.0},
    {"roi_pool_backward", {0.0, 0.0, -0.09999999999999998, 0.0, 0.0, 0.0}, 0.5800000000000006, 6.4399999999999995},
    {"ps_roi_align -1",
     {-0.1275146484375, -0.04353027343750002, -0.019321289062500024, -0.13999999999999999, -0.225,
      0.024687499999999973},
     1.4123567301432303,
     4.34064888509115},
    {"ps_roi_align -1 mapping", {0.0, 1.0, 2.0, 3.0, 4.0, 5.0}, 112.0, 406.0},
    {"ps_roi_align_backward -1",
     {-0.035288085937500005, 0.007470703125000006, 0.0019775390625000016, 0.0, 0.0, 0.0},
     0.5400000000000004,
     3.0311605468750016},
    {"ps_roi_align 2",
     {-0.1275146484375, -0.04353027343750002, -0.019321289062500024, -0.13999999999999999, -0.225,
      0.024687499999999973},
     1.3695346679687506,
     4.557490722656253},
    {"ps_roi_align 2 mapping", {0.0, 1.0, 2.0, 3.0, 4.0, 5.0}, 112.0, 406.0},
    {"ps_roi_align_backward 2",
     {-0.04038574218750001, 0.007470703125000006, 0.0019775390625000016, 0.0, 0.0, 0.0},
     0.5400000000000003,
     3.158523828125001},
    {"ps_roi_pool",
     {-0.11500000000000002, -0.12000000000000002, 0.16999999999999993, -0.33999999999999997, -0.5, 0.0},
     -1.3816666666666664,
     -11.263333333333332},
    {"ps_roi_pool mapping", {0.0, 1.0, 2.0, 3.0, 4.0, 5.0}, 112.0, 406.0},
    {"ps_roi_pool_backward", {0.0, 0.0, 0.0, 0.0, 0.0, 0.0}, 0.5000000000000003, 5.227500000000001},
    {"deform_conv2d 0",
     {0.6128432000000001, 0.88577784, 0.09137252000000012, 0.590432, 0.32000000000000006, 1.2285677200000005},
     -64.02813011999999,
     -257.9444331199999},
    {"deform_conv2d_backward 0 input",
     {0.16148144000000006, -0.5126295600000003, -1.3343054, 0.03972120000000001, -0.12040887999999979,
      0.31482999999999983},
     6.492194839999996,
     58.52995192},
    {"deform_conv2d_backward 0 weight",
     {1.00603304, -0.4622193599999998, -1.24676488, 1.1587203600000004, -0.8245784400000002, 0.39220356000000045},
     9.76500515999999,
     32.21066743999996},
    {"deform_conv2d_backward 0 offset", {0.0, 0.0, 0.0, 0.0, 0.0, 0.0}, 7.819646000000005, 15.638852479999992},
    {"deform_conv2d_backward 0 mask", {0.0, 0.0, 0.0, 0.0, 0.0, 0.0}, 0.0, 0.0},
    {"deform_conv2d_backward 0 bias",
     {2.1, -2.1, 1.7799999999999994, -0.40000000000000024, 1.4599999999999997, -2.74},
     0.09999999999999865,
     -7.4000000000000075},
    {"deform_conv2d 1",
     {0.06815484799999999, 0.12381891520000002, -0.27957329359999983, 0.1415148800000001, 0.32000000000000006,
      0.4672689928000001},
     -60.806329444,
     -229.127086872},
    {"deform_conv2d_backward 1 input",
     {0.6093782656, 0.15469946239999988, -0.2799674272, 0.19573778880000006, -0.0064932255999999265,
      0.22420084799999984},
     15.430978485599994,
     76.52054686400001},
    {"deform_conv2d_backward 1 weight",
     {0.6991097815999991, -0.5131256703999998, 0.3059151615999999, -0.14253836320000016, 0.08253612800000043,
      0.08901156159999997},
     3.032961954399995,
     13.876910230399979},
    {"deform_conv2d_backward 1 offset", {0.0, 0.0, 0.0, 0.0, 0.0, 0.0}, -4.979901694400006, 0.9074856543999674},
    {"deform_conv2d_backward 1 mask", {0.0, 0.0, 0.0, 0.0, 0.0, 0.0}, 5.619168278399993, 16.958718427199987},
    {"deform_conv2d_backward 1 bias",
     {2.1, -2.1, 1.7799999999999994, -0.40000000000000024, 1.4599999999999997, -2.74},
     0.09999999999999865,
     -7.4000000000000075},
    {"nms", {17.0, 14.0, 11.0, 0.0, 8.0, 16.0}, 111.0, 429.0},
};

class Torchvision : public testing::Test {
 protected:
  static void SetUpTestSuite() { load_library(SCONCE_LIBRARY_DIR "/sconce_torchvision.so"); }
};

double formula(int64_t i, int seed) { return static_cast<double>((i * 37 + seed * 11) % 101) / 50.0 - 1.0; }

Tensor filled(IntList sizes, int seed, double scale = 1) {
  Tensor t = empty_tensor(sizes, DType::float64);
  for (int64_t i = 0; i < t.numel(); ++i) t.data<double>()[i] = formula(i, seed) * scale;
  return t;
}

Tensor rois() {
  const double values[] = {0, 0.5,  1.0,  5.5, 6.0, 1, 2.0, 0.0, 7.5, 3.0,
                           0, -2.0, -1.0, 3.0, 9.5, 1, 4.0, 4.0, 4.2, 4.1};
  Tensor t = empty_tensor({4, 5}, DType::float64);
  std::copy(std::begin(values), std::end(values), t.data<double>());
  return t;
}

double element(const Tensor& t, int64_t i) {
  if (t.dtype() == DType::int32) return t.data<int32_t>()[i];
  if (t.dtype() == DType::int64) return static_cast<double>(t.data<int64_t>()[i]);
  return t.data<double>()[i];
}

void expect_recorded(const std::string& name, const Value& value) {
  const Tensor t = value.to_tensor();
  const auto found =
      std::find_if(kRecorded.begin(), kRecorded.end(), [&](const Recorded& r) { return name == r.name; });
  ASSERT_NE(found, kRecorded.end()) << name;
  double sum = 0, weighted = 0;
  for (int64_t i = 0; i < t.numel(); ++i) {
    if (i < static_cast<int64_t>(found->first.size())) {
      EXPECT_NEAR(element(t, i), found->first[static_cast<size_t>(i)], 1e-12) << name << " " << i;
    }
    sum += element(t, i);
    weighted += element(t, i) * static_cast<double>((i + 1) % 7 + 1);
  }
  EXPECT_NEAR(sum, found->sum, 1e-10) << name;
  EXPECT_NEAR(weighted, found->weighted, 1e-10) << name;
}

template <class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

TEST_F(Torchvision, aligns_regions) {
  const Tensor x = filled({2, 8, 7, 8}, 1);
  for (const bool aligned : {false, true}) {
    for (const int64_t ratio : {-1, 2}) {
      const std::string suffix = std::string(aligned ? " 1 " : " 0 ") + std::to_string(ratio);
      expect_recorded("roi_align" + suffix,
                      call_op("torchvision::roi_align", {x, rois(), 0.75, 2, 3, ratio, aligned})[0]);
      expect_recorded("roi_align_backward" + suffix,
                      call_op("torchvision::_roi_align_backward",
                              {filled({4, 8, 2, 3}, 5), rois(), 0.75, 2, 3, 2, 8, 7, 8, ratio, aligned})[0]);
    }
  }
}

TEST_F(Torchvision, aligns_regions_with_channels_for_every_bin) {
  const Tensor x = filled({2, 8, 7, 8}, 1);
  for (const int64_t ratio : {-1, 2}) {
    const std::string suffix = " " + std::to_string(ratio);
    const auto both = call_op("torchvision::ps_roi_align", {x, rois(), 0.75, 2, 2, ratio});
    expect_recorded("ps_roi_align" + suffix, both[0]);
    expect_recorded("ps_roi_align" + suffix + " mapping", both[1]);
    expect_recorded("ps_roi_align_backward" + suffix,
                    call_op("torchvision::_ps_roi_align_backward",
                            {filled({4, 2, 2, 2}, 5), rois(), both[1], 0.75, 2, 2, ratio, 2, 8, 7, 8})[0]);
  }
}

TEST_F(Torchvision, pools_regions) {
  const Tensor x = filled({2, 8, 7, 8}, 1);
  const auto both = call_op("torchvision::roi_pool", {x, rois(), 0.75, 2, 3});
  expect_recorded("roi_pool", both[0]);
  expect_recorded("roi_pool argmax", both[1]);
  expect_recorded("roi_pool_backward", call_op("torchvision::_roi_pool_backward",
                                               {filled({4, 8, 2, 3}, 5), rois(), both[1], 0.75, 2, 3, 2, 8, 7, 8})[0]);
  const auto sensitive = call_op("torchvision::ps_roi_pool", {x, rois(), 0.75, 2, 2});
  expect_recorded("ps_roi_pool", sensitive[0]);
  expect_recorded("ps_roi_pool mapping", sensitive[1]);
  expect_recorded("ps_roi_pool_backward",
                  call_op("torchvision::_ps_roi_pool_backward",
                          {filled({4, 2, 2, 2}, 5), rois(), sensitive[1], 0.75, 2, 2, 2, 8, 7, 8})[0]);
}

TEST_F(Torchvision, convolves_with_moved_taps) {
  for (const bool use_mask : {false, true}) {
    const std::string suffix = use_mask ? " 1" : " 0";
    const Tensor x = filled({2, 8, 7, 8}, 1), weight = filled({6, 4, 3, 2}, 2), offset = filled({2, 24, 5, 5}, 3, 1.5);
    const Tensor mask = filled({2, 12, 5, 5}, 4), bias = filled({6}, 6);
    expect_recorded(
        "deform_conv2d" + suffix,
        call_op("torchvision::deform_conv2d", {x, weight, offset, mask, bias, 2, 2, 2, 1, 1, 1, 2, 2, use_mask})[0]);
    const auto grads = call_op("torchvision::_deform_conv2d_backward", {filled({2, 6, 5, 5}, 5), x, weight, offset,
                                                                        mask, bias, 2, 2, 2, 1, 1, 1, 2, 2, use_mask});
    const char* names[] = {" input", " weight", " offset", " mask", " bias"};
    for (size_t i = 0; i < 5; ++i) expect_recorded("deform_conv2d_backward" + suffix + names[i], grads[i]);
  }
}

TEST_F(Torchvision, keeps_the_best_boxes) {
  Tensor boxes = empty_tensor({20, 4}, DType::float64);
  for (int64_t i = 0; i < 20; ++i) {
    const int64_t box[] = {i * 3 % 17, i * 5 % 13, i * 3 % 17 + 4 + i % 3, i * 5 % 13 + 5 + i % 4};
    std::copy(box, box + 4, boxes.data<double>() + i * 4);
  }
  expect_recorded("nms", call_op("torchvision::nms", {boxes, filled({20}, 7), 0.3})[0]);
  const Tensor none = call_op("torchvision::nms", {filled({0, 4}, 0), filled({0}, 0), 0.3})[0].to_tensor();
  EXPECT_EQ(none.sizes(), IntList({0}));
}

TEST_F(Torchvision, knows_shapes_and_derivatives) {
  const Device meta(DeviceType::meta);
  const Tensor x = empty_tensor({2, 8, 7, 8}, DType::float32, meta), r = empty_tensor({3, 5}, DType::float32, meta);
  EXPECT_EQ(call_op("torchvision::roi_align", {x, r, 1.0, 2, 3, -1, false})[0].to_tensor().sizes(),
            IntList({3, 8, 2, 3}));
  EXPECT_EQ(call_op("torchvision::roi_pool", {x, r, 1.0, 2, 3})[1].to_tensor().dtype(), DType::int32);
  EXPECT_EQ(call_op("torchvision::ps_roi_pool", {x, r, 1.0, 2, 2})[0].to_tensor().sizes(), IntList({3, 2, 2, 2}));
  const auto tensor = [&](IntList sizes) { return empty_tensor(sizes, DType::float32, meta); };
  EXPECT_EQ(call_op("torchvision::deform_conv2d", {x, tensor({6, 8, 3, 3}), tensor({2, 18, 5, 6}), tensor({2, 9, 5, 6}),
                                                   tensor({6}), 1, 1, 0, 0, 1, 1, 1, 1, true})[0]
                .to_tensor()
                .sizes(),
            IntList({2, 6, 5, 6}));
}

TEST_F(Torchvision, refuses_what_does_not_fit) {
  const Tensor x = filled({2, 8, 7, 8}, 1);
  EXPECT_NE(error_of([&] {
              call_op("torchvision::roi_align", {x, filled({2, 4}, 0), 1.0, 2, 2, -1, false});
            }).find("Tensor[K, 5]"),
            std::string::npos);
  Tensor far = rois();
  far.data<double>()[0] = 7;
  EXPECT_NE(error_of([&] { call_op("torchvision::roi_align", {x, far, 1.0, 2, 2, -1, false}); }).find("names image 7"),
            std::string::npos);
  EXPECT_NE(
      error_of([&] { call_op("torchvision::ps_roi_pool", {x, rois(), 1.0, 3, 2}); }).find("multiple of pooling height"),
      std::string::npos);
  EXPECT_NE(error_of([&] {
              call_op("torchvision::deform_conv2d",
                      {x, filled({6, 8, 3, 3}, 2), filled({2, 17, 5, 6}, 3), filled({2, 9, 5, 6}, 4), filled({6}, 6), 1,
                       1, 0, 0, 1, 1, 1, 1, true});
            }).find("offset.shape[1] is not valid"),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              call_op("torchvision::_ps_roi_align_backward",
                      {filled({1, 1, 1, 1}, 1), filled({1, 5}, 0), empty_tensor({1}, DType::int32), 1.0, 4,
                       int64_t{1} << 62, 0, 1, 4, 4, 4});
            }).find("4 * 4611686018427387904 does not fit into 64 bits"),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              call_op("torchvision::roi_align", {x, rois(), 1.0, 2, 2, int64_t{1} << 40, false});
            }).find("sampling_ratio must be at most 1024"),
            std::string::npos);
}

// Boxes come from data. Of the 10^18 samples of this one, those in the image are looked at.
TEST_F(Torchvision, aligns_a_region_much_larger_than_the_image) {
  const Tensor x = filled({1, 1, 7, 8}, 1);
  Tensor box = filled({1, 5}, 0);
  const double corners[] = {0, -1e9, -1e9, 1e9, 1e9};
  std::copy(std::begin(corners), std::end(corners), box.data<double>());
  const Tensor out = call_op("torchvision::roi_align", {x, box, 1.0, 1, 1, 0, false})[0].to_tensor();
  EXPECT_NEAR(out.data<double>()[0], 0, 1e-6);
}

TEST(Extensions, RotatedBoxesOverlap) {
  const auto boxes = [](std::vector<float> v) {
    Tensor t = empty_tensor({static_cast<int64_t>(v.size() / 5), 5}, DType::float32);
    std::copy(v.begin(), v.end(), t.data<float>());
    return Value(t);
  };
  const Value a = boxes({10, 10, 6, 4, 30, 0, 0, 2, 2, 0, 5, 5, 4, 8, -45, 10, 10, 0, 4, 0});
  const Value b = boxes({11, 9, 5, 5, -20, 10, 10, 6, 4, 30, 0.5, 0.5, 2, 2, 45, 5, 6, 8, 2, 10});
  const Tensor overlap = call_op("torchvision::box_iou_rotated", {a, b})[0].to_tensor();
  const float expected[16] = {0.50504595f, 1, 0, 0, 0, 0, 0.43220651f, 0, 0, 0, 0, 0.33340582f, 0, 0, 0, 0};
  for (int i = 0; i < 16; ++i) EXPECT_NEAR(overlap.data<float>()[i], expected[i], 1e-6) << i;
}

TEST(Extensions, AreLoadedWhenTheirOperatorsAreLookedFor) {
  EXPECT_NE(find_op("torchvision::nms", ""), nullptr);
  EXPECT_EQ(find_overloads("torchvision::roi_align").size(), 1u);
  EXPECT_EQ(find_op("torchvision::nowhere", ""), nullptr);
  EXPECT_EQ(find_op("nowhere::nms", ""), nullptr);
  EXPECT_EQ(find_op("../lib/sconce_torchvision::nms", ""), nullptr);
  EXPECT_EQ(find_op("nms", ""), nullptr);
}

}  // namespace
}  // namespace sconce
