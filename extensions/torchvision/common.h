// What the operators of this library share: checks, and running a kernel in float or double.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <vector>

#include "sconce/base/checked.h"
#include "sconce/base/error.h"
#include "sconce/base/parallel.h"
#include "sconce/dispatch/library.h"
#include "sconce/ops.h"

namespace torchvision {

using namespace sconce;

// f<float>() or f<double>(), by what the dtype is computed in; float16 goes through float, other dtypes throw Error.
template <class F>
void compute(DType dtype, const char* name, F&& f) {
  SCONCE_CHECK_AS(not_implemented, dtype == DType::float16 || dtype == DType::float32 || dtype == DType::float64,
                  "\"{}\" not implemented for '{}'", name, dtype_legacy_name(dtype));
  if (dtype == DType::float64) {
    f.template operator()<double>();
  } else {
    f.template operator()<float>();
  }
}

// `t` contiguous, in the dtype that `compute` gives.
inline Tensor prepared(const Tensor& t) {
  const Tensor dense = t.contiguous();
  return dense.dtype() == DType::float16 ? dense.to(DType::float32) : dense;
}
// A result of `compute` in the dtype of its operator.
inline Tensor finished(const Tensor& t, DType dtype) { return t.dtype() == dtype ? t : t.to(dtype); }
inline DType computed_dtype(DType t) { return t == DType::float16 ? DType::float32 : t; }

// Regions of interest: [count, 5], a row being the number of an image and x1, y1, x2, y2.
inline void check_rois(const Tensor& rois, const char* name) {
  SCONCE_CHECK(rois.dim() == 2 && rois.size(1) == 5, "{}: rois must have shape as Tensor[K, 5], got {}", name,
               rois.sizes());
}
inline void check_input(const Tensor& input, const Tensor& rois, const char* name) {
  SCONCE_CHECK(input.dim() == 4, "{}: input must have shape as Tensor[N, C, H, W], got {}", name, input.sizes());
  check_rois(rois, name);
  SCONCE_CHECK(
      input.dtype() == rois.dtype(),
      "{}: Expected tensor for argument 'input' to have the same type as tensor for argument 'rois'; got {} and {}",
      name, dtype_name(input.dtype()), dtype_name(rois.dtype()));
}
inline void check_pooled(int64_t height, int64_t width, const char* name) {
  SCONCE_CHECK(height > 0 && width > 0, "{}: pooled_height and pooled_width must be positive, got {} and {}", name,
               height, width);
}
// How many bins a region is cut into.
inline int64_t bins_of(int64_t pooled_height, int64_t pooled_width) { return Checked(pooled_height) * pooled_width; }
// Samples of a bin along each side, 0 or less for as many as it has pixels.
inline void check_samples(int64_t ratio, const char* name) {
  SCONCE_CHECK(ratio <= 1024, "{}: sampling_ratio must be at most 1024, got {}", name, ratio);
}
// Every row must name an image that exists.
template <class T>
void check_images(const Tensor& rois, int64_t images, const char* name) {
  const T* r = rois.data<T>();
  for (int64_t i = 0; i < rois.size(0); ++i) {
    SCONCE_CHECK(r[i * 5] >= 0 && r[i * 5] < static_cast<T>(images), "{}: roi {} names image {}, but there are {}",
                 name, i, static_cast<double>(r[i * 5]), images);
  }
}
// The gradient that a backward operator is given, [count, channels, height, width].
inline void check_grad(const Tensor& grad, int64_t count, int64_t channels, int64_t height, int64_t width,
                       const char* name) {
  const int64_t expected[4] = {count, channels, height, width};
  SCONCE_CHECK(grad.sizes() == IntList(expected, 4), "{}: expected grad of shape {}, got {}", name,
               IntList(expected, 4), grad.sizes());
}
// The gradient and the regions of a backward operator.
inline void check_backward(const Tensor& grad, const Tensor& rois, int64_t pooled_height, int64_t pooled_width,
                           int64_t grad_channels, const char* name) {
  check_rois(rois, name);
  check_pooled(pooled_height, pooled_width, name);
  SCONCE_CHECK(grad.dtype() == rois.dtype(), "{}: grad and rois must have one dtype, got {} and {}", name,
               dtype_name(grad.dtype()), dtype_name(rois.dtype()));
  check_grad(grad, rois.size(0), grad_channels, pooled_height, pooled_width, name);
}

// For pooling with channels of its own for every bin.
inline int64_t channels_per_bin(int64_t channels, int64_t pooled_height, int64_t pooled_width, const char* name) {
  check_pooled(pooled_height, pooled_width, name);
  const int64_t bins = bins_of(pooled_height, pooled_width);
  SCONCE_CHECK(channels >= bins && channels % bins == 0,
               "{}: input channels must be a multiple of pooling height * pooling width, got {} for {} x {}", name,
               channels, pooled_height, pooled_width);
  return channels / bins;
}

// Results of pooling: of input's dtype, and int32 numbers beside them.
inline std::tuple<Tensor, Tensor> pooled_pair(const Tensor& input, IntList sizes) {
  return {empty_tensor(sizes, input.dtype(), input.device()), empty_tensor(sizes, DType::int32, input.device())};
}

// The four neighbours of a place between pixels; weights are 0 outside.
template <class T>
struct Neighbours {
  int64_t at[4] = {0, 0, 0, 0};
  T weight[4] = {0, 0, 0, 0};
  bool inside = false;

  // Places up to one pixel outside belong to the border, as in RoIAlign.
  Neighbours(int64_t height, int64_t width, T y, T x) {
    if (!(y >= -1 && y <= static_cast<T>(height) && x >= -1 && x <= static_cast<T>(width))) return;
    inside = true;
    y = std::max(y, T(0));
    x = std::max(x, T(0));
    auto y0 = static_cast<int64_t>(y), x0 = static_cast<int64_t>(x);
    int64_t y1 = y0 + 1, x1 = x0 + 1;
    if (y0 >= height - 1) {
      y0 = y1 = height - 1;
      y = static_cast<T>(y0);
    }
    if (x0 >= width - 1) {
      x0 = x1 = width - 1;
      x = static_cast<T>(x0);
    }
    const T dy = y - static_cast<T>(y0), dx = x - static_cast<T>(x0);
    at[0] = y0 * width + x0;
    at[1] = y0 * width + x1;
    at[2] = y1 * width + x0;
    at[3] = y1 * width + x1;
    weight[0] = (1 - dy) * (1 - dx);
    weight[1] = (1 - dy) * dx;
    weight[2] = dy * (1 - dx);
    weight[3] = dy * dx;
  }
};

// The operators, for library.cpp.
Tensor nms_meta(const Tensor& dets, const Tensor& scores, double iou_threshold);
Tensor nms_cpu(const Tensor& dets, const Tensor& scores, double iou_threshold);

Tensor box_iou_rotated_meta(const Tensor& boxes1, const Tensor& boxes2);
Tensor box_iou_rotated_cpu(const Tensor& boxes1, const Tensor& boxes2);

Tensor roi_align_meta(const Tensor& input, const Tensor& rois, double spatial_scale, int64_t pooled_height,
                      int64_t pooled_width, int64_t sampling_ratio, bool aligned);
Tensor roi_align_cpu(const Tensor& input, const Tensor& rois, double spatial_scale, int64_t pooled_height,
                     int64_t pooled_width, int64_t sampling_ratio, bool aligned);
Tensor roi_align_backward_meta(const Tensor& grad, const Tensor& rois, double spatial_scale, int64_t pooled_height,
                               int64_t pooled_width, int64_t batch_size, int64_t channels, int64_t height,
                               int64_t width, int64_t sampling_ratio, bool aligned);
Tensor roi_align_backward_cpu(const Tensor& grad, const Tensor& rois, double spatial_scale, int64_t pooled_height,
                              int64_t pooled_width, int64_t batch_size, int64_t channels, int64_t height, int64_t width,
                              int64_t sampling_ratio, bool aligned);

using Two = std::tuple<Tensor, Tensor>;
Two roi_pool_meta(const Tensor& input, const Tensor& rois, double spatial_scale, int64_t pooled_height,
                  int64_t pooled_width);
Two roi_pool_cpu(const Tensor& input, const Tensor& rois, double spatial_scale, int64_t pooled_height,
                 int64_t pooled_width);
Tensor roi_pool_backward_meta(const Tensor& grad, const Tensor& rois, const Tensor& argmax, double spatial_scale,
                              int64_t pooled_height, int64_t pooled_width, int64_t batch_size, int64_t channels,
                              int64_t height, int64_t width);
Tensor roi_pool_backward_cpu(const Tensor& grad, const Tensor& rois, const Tensor& argmax, double spatial_scale,
                             int64_t pooled_height, int64_t pooled_width, int64_t batch_size, int64_t channels,
                             int64_t height, int64_t width);

Two ps_roi_align_meta(const Tensor& input, const Tensor& rois, double spatial_scale, int64_t pooled_height,
                      int64_t pooled_width, int64_t sampling_ratio);
Two ps_roi_align_cpu(const Tensor& input, const Tensor& rois, double spatial_scale, int64_t pooled_height,
                     int64_t pooled_width, int64_t sampling_ratio);
Tensor ps_roi_align_backward_meta(const Tensor& grad, const Tensor& rois, const Tensor& channel_mapping,
                                  double spatial_scale, int64_t pooled_height, int64_t pooled_width,
                                  int64_t sampling_ratio, int64_t batch_size, int64_t channels, int64_t height,
                                  int64_t width);
Tensor ps_roi_align_backward_cpu(const Tensor& grad, const Tensor& rois, const Tensor& channel_mapping,
                                 double spatial_scale, int64_t pooled_height, int64_t pooled_width,
                                 int64_t sampling_ratio, int64_t batch_size, int64_t channels, int64_t height,
                                 int64_t width);

Two ps_roi_pool_meta(const Tensor& input, const Tensor& rois, double spatial_scale, int64_t pooled_height,
                     int64_t pooled_width);
Two ps_roi_pool_cpu(const Tensor& input, const Tensor& rois, double spatial_scale, int64_t pooled_height,
                    int64_t pooled_width);
Tensor ps_roi_pool_backward_meta(const Tensor& grad, const Tensor& rois, const Tensor& channel_mapping,
                                 double spatial_scale, int64_t pooled_height, int64_t pooled_width, int64_t batch_size,
                                 int64_t channels, int64_t height, int64_t width);
Tensor ps_roi_pool_backward_cpu(const Tensor& grad, const Tensor& rois, const Tensor& channel_mapping,
                                double spatial_scale, int64_t pooled_height, int64_t pooled_width, int64_t batch_size,
                                int64_t channels, int64_t height, int64_t width);

using Five = std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor>;
Tensor deform_conv2d_meta(const Tensor& input, const Tensor& weight, const Tensor& offset, const Tensor& mask,
                          const Tensor& bias, int64_t stride_h, int64_t stride_w, int64_t pad_h, int64_t pad_w,
                          int64_t dilation_h, int64_t dilation_w, int64_t groups, int64_t offset_groups, bool use_mask);
Tensor deform_conv2d_cpu(const Tensor& input, const Tensor& weight, const Tensor& offset, const Tensor& mask,
                         const Tensor& bias, int64_t stride_h, int64_t stride_w, int64_t pad_h, int64_t pad_w,
                         int64_t dilation_h, int64_t dilation_w, int64_t groups, int64_t offset_groups, bool use_mask);
Five deform_conv2d_backward_meta(const Tensor& grad, const Tensor& input, const Tensor& weight, const Tensor& offset,
                                 const Tensor& mask, const Tensor& bias, int64_t stride_h, int64_t stride_w,
                                 int64_t pad_h, int64_t pad_w, int64_t dilation_h, int64_t dilation_w, int64_t groups,
                                 int64_t offset_groups, bool use_mask);
Five deform_conv2d_backward_cpu(const Tensor& grad, const Tensor& input, const Tensor& weight, const Tensor& offset,
                                const Tensor& mask, const Tensor& bias, int64_t stride_h, int64_t stride_w,
                                int64_t pad_h, int64_t pad_w, int64_t dilation_h, int64_t dilation_w, int64_t groups,
                                int64_t offset_groups, bool use_mask);

}  // namespace torchvision
