#include "sconce/kernels/cpu/conv/conv_gradient.h"

#include <algorithm>

#include "sconce/base/error.h"
#include "sconce/base/parallel.h"
#include "sconce/base/variants/variants.h"
#include "sconce/kernels/cpu/conv/conv_geometry.h"
#include "sconce/kernels/cpu/conv/conv_gradient_direct.h"
#include "sconce/kernels/cpu/conv/conv_gradient_winograd.h"
#include "sconce/kernels/cpu/conv/conv_kernels.h"
#include "sconce/kernels/cpu/conv/conv_winograd.h"
#include "sconce/kernels/cpu/engine/scratch.h"
#include "sconce/kernels/cpu/gemm/gemm_bf16.h"

namespace sconce {
namespace {

SCONCE_VARIANT(pointwise_window, "conv.gradient.product", "a kernel of 1 x 1 without strides and padding");
SCONCE_VARIANT(by_channels, "conv.gradient.depthwise", "float32 or float64, a group for each channel, as many results");
SCONCE_VARIANT(in_small_groups, "conv.gradient.small_groups", "float32, groups of 2, 4 or 8 channels");
SCONCE_VARIANT(with_winograd, "conv.gradient.winograd",
               "float32, 3 x 3 without strides, channels in whole vectors, 256 pixels or more");
SCONCE_VARIANT(several_blocks, "conv.gradient.gathered.blocks", "more windows than are gathered at a time", "bf16");
SCONCE_VARIANT(pairs, "conv.gradient.bf16_pairs", "bfloat16, more than one channel a group", "bf16");

constexpr int64_t copies_per_thread = 64 * 1024;        // elements
constexpr int64_t window_bytes = 1024 * 1024;           // of the windows that are gathered at a time
constexpr int64_t least_pixels = 256, step_pixels = 8;  // that are gathered at a time, and a multiple

int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

// T: float, double, or bfloat16 as bits, whose gradients are Sum = float.
template <class T, class Sum>
class WeightGradient {
 public:
  WeightGradient(const ConvShape& shape, const T* x, const T* grad, Sum* grad_weight, const MatrixKernels& kernels)
      : shape_(shape), geometry_(shape), x_(x), grad_(grad), out_(grad_weight), kernels_(kernels) {}

  void run() {
    if (pointwise_window(is_pointwise()))
      return multiply(x_, shape_.in_channels, in_channels(), shape_.batch * geometry_.out.product(), 0);
    if constexpr (sizeof(T) > 2) {
      if (by_channels(conv_is_depthwise(shape_))) return run_depthwise(1);
    }
    if constexpr (std::is_same_v<T, float>) {
      const int64_t group = conv_small_group(shape_, kernels_);
      if (in_small_groups(group != 0)) return run_depthwise(group);
      if (with_winograd(winograd_pays()) && winograd_weight_gradient(shape_, x_, grad_, out_, kernels_)) return;
    }
    if constexpr (sizeof(T) > 2)
      direct_weight_gradient(shape_, x_, grad_, out_, kernels_);
    else
      run_gathered();
  }

 private:
  static constexpr DType dtype = sizeof(T) == sizeof(float) ? DType::float32 : DType::float64;

  // Its tiles have 2 x 2 pixels, and its sums 16 elements for nine.
  bool winograd_pays() const {
    return winograd_serves(shape_, DType::float32, kernels_) && geometry_.out.h >= 4 && geometry_.out.w >= 4 &&
           shape_.batch * geometry_.out.product() >= 256;
  }

  // Windows side by side, and a product of them.
  void run_gathered() {
    const int64_t pixels = shape_.batch * geometry_.out.product(), window = geometry_.kernel.product() * in_channels();
    const int64_t row = window * shape_.groups;
    int64_t block = std::max<int64_t>(least_pixels, window_bytes / (row * static_cast<int64_t>(sizeof(T))));
    block = std::min(pixels, divide_up(block, step_pixels) * step_pixels);
    Scratch scratch;
    T* windows = scratch.take<T>(block * row);
    several_blocks(block < pixels);
    for (int64_t first = 0; first < pixels; first += block) {
      const int64_t count = std::min(block, pixels - first);
      parallel_for(count, divide_up(copies_per_thread, row), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; i++) gather(first + i, windows + i * row);
      });
      multiply(windows, row, window, count, first);
    }
  }

  int64_t in_channels() const { return shape_.in_channels / shape_.groups; }
  int64_t out_channels() const { return shape_.out_channels / shape_.groups; }

  bool is_pointwise() const {
    const auto& [in, out, kernel, stride, padding, dilation] = geometry_;
    return kernel.product() == 1 && stride.product() == 1 && padding.d == 0 && padding.h == 0 && padding.w == 0 &&
           in.d == out.d && in.h == out.h && in.w == out.w;
  }

  // Adds (or, for the first pixel, stores) what `count` pixels contribute: their windows are rows of b, `width`
  // elements for each group.
  void multiply(const T* b, int64_t row, int64_t width, int64_t count, int64_t first) {
    Epilogue epilogue;
    epilogue.accumulate = first > 0;
    for (int64_t group = 0; group < shape_.groups; group++) {
      const int64_t out = group * out_channels();
      if constexpr (sizeof(T) == 2) {
        gemm_bf16_to_f32(out_channels(), width, count,
                         {grad_ + first * shape_.out_channels + out, 1, shape_.out_channels},
                         {b + group * width, row, 1}, out_ + out * width, width, first > 0, kernels_);
        continue;
      }
      gemm(dtype, out_channels(), width, count, {grad_ + first * shape_.out_channels + out, 1, shape_.out_channels},
           {b + group * width, row, 1}, {out_ + out * width, width, 1}, epilogue, kernels_);
    }
  }

  // The window of an output pixel: [groups][taps][channels of a group].
  void gather(int64_t pixel, T* to) const {
    const auto& [in, out, kernel, stride, padding, dilation] = geometry_;
    const int64_t w0 = pixel % out.w * stride.w - padding.w, h0 = pixel / out.w % out.h * stride.h - padding.h,
                  d0 = pixel / out.w / out.h % out.d * stride.d - padding.d, n = pixel / out.product();
    const int64_t channels = in_channels();
    const bool whole = shape_.groups == 1 && dilation.w == 1 && w0 >= 0 && w0 + kernel.w <= in.w;
    for (int64_t group = 0; group < shape_.groups; group++) {
      for (int64_t kd = 0; kd < kernel.d; kd++) {
        for (int64_t kh = 0; kh < kernel.h; kh++, to += kernel.w * channels) {
          const int64_t d = d0 + kd * dilation.d, h = h0 + kh * dilation.h;
          if (d < 0 || d >= in.d || h < 0 || h >= in.h) {
            std::fill_n(to, kernel.w * channels, T(0));
            continue;
          }
          const T* row = x_ + (((n * in.d + d) * in.h + h) * in.w + w0) * shape_.in_channels + group * channels;
          if (whole) {
            std::copy_n(row, kernel.w * channels, to);
            continue;
          }
          for (int64_t kw = 0; kw < kernel.w; kw++) {
            const int64_t w = w0 + kw * dilation.w;
            if (w < 0 || w >= in.w) {
              std::fill_n(to + kw * channels, channels, T(0));
            } else {
              std::copy_n(row + kw * dilation.w * shape_.in_channels, channels, to + kw * channels);
            }
          }
        }
      }
    }
  }

  // Vectors run over channels: a thread has some channels of all pixels. Sums are [taps][group][channels] first, the
  // group being 1 or that of conv_small_group.
  void run_depthwise(int64_t group) {
    const auto& [in, out, kernel, stride, padding, dilation] = geometry_;
    const DepthwiseGradientTable<Sum>& table = depthwise();
    const int64_t channels = shape_.in_channels, taps = kernel.product(), unit = gemm_lanes();
    Scratch scratch;
    T* sums = scratch.take<T>(taps * group * channels);
    std::fill_n(sums, taps * group * channels, T(0));
    const int64_t work = shape_.batch * out.product() * taps * group * unit;
    parallel_for(divide_up(channels, unit), divide_up(copies_per_thread, std::max<int64_t>(work, 1)),
                 [&, &in = in, &out = out, &kernel = kernel, &stride = stride, &padding = padding,
                  &dilation = dilation](int64_t begin, int64_t end) {
                   DepthwiseGradientArgs<T> args{};
                   args.channels = channels;
                   args.group = group;
                   args.first_channel = begin * unit;
                   args.last_channel = std::min(channels, end * unit);
                   args.kernel_width = kernel.w;
                   args.stride = stride.w;
                   args.dilation = dilation.w;
                   args.padding = padding.w;
                   args.input_width = in.w;
                   args.output_width = out.w;
                   for (int64_t row = 0; row < shape_.batch * out.d * out.h; row++) {
                     const int64_t h = row % out.h, d = row / out.h % out.d, n = row / out.h / out.d;
                     args.grad_row = grad_ + row * out.w * channels;
                     for (int64_t kd = 0; kd < kernel.d; kd++) {
                       for (int64_t kh = 0; kh < kernel.h; kh++) {
                         const int64_t from_d = d * stride.d - padding.d + kd * dilation.d;
                         const int64_t from_h = h * stride.h - padding.h + kh * dilation.h;
                         if (from_d < 0 || from_d >= in.d || from_h < 0 || from_h >= in.h) continue;
                         args.input_row = x_ + ((n * in.d + from_d) * in.h + from_h) * in.w * channels;
                         args.sums = sums + (kd * kernel.h + kh) * kernel.w * group * channels;
                         (group > 1 ? table.grouped_gradient : table.weight_gradient)(args);
                       }
                     }
                   }
                 });
    for (int64_t c = 0; c < channels; c++) {
      for (int64_t t = 0; t < taps * group; t++) out_[c * taps * group + t] = sums[t * channels + c];
    }
  }

  const DepthwiseGradientTable<Sum>& depthwise() const {
    if constexpr (sizeof(Sum) == sizeof(float)) {
      return *conv_gradient_kernels(kernels_).depthwise_f32;
    } else {
      return *conv_gradient_kernels(kernels_).depthwise_f64;
    }
  }
  int64_t gemm_lanes() const { return sizeof(T) == sizeof(float) ? kernels_.f32->lanes : kernels_.f64->lanes; }

  const ConvShape& shape_;
  ConvGeometry geometry_;
  const T* x_;
  const T* grad_;
  Sum* out_;
  const MatrixKernels& kernels_;
};

}  // namespace

void conv_weight_gradient(const ConvShape& shape, DType dtype, const void* x, const void* grad, void* grad_weight,
                          const MatrixKernels& kernels) {
  const bool in_pairs = dtype == DType::bfloat16 && kernels.bf16 && !conv_is_depthwise(shape);
  SCONCE_CHECK(dtype == DType::float32 || dtype == DType::float64 || in_pairs,
               "convolution: weight gradients are not computed in {} here", dtype_name(dtype));
  SCONCE_ASSERT(!shape.transposed);
  const ConvGeometry geometry(shape);
  const int64_t pixels = shape.batch * geometry.out.product();
  const int64_t elements = shape.out_channels * geometry.kernel.product() * (shape.in_channels / shape.groups);
  auto run = [&]<class T, class Sum>(T, Sum) {
    auto* out = static_cast<Sum*>(grad_weight);
    if (pixels == 0 || elements == 0) {
      std::fill_n(out, elements, Sum(0));
    } else {
      WeightGradient<T, Sum>(shape, static_cast<const T*>(x), static_cast<const T*>(grad), out, kernels).run();
    }
  };
  if (pairs(in_pairs)) return run(uint16_t{}, float{});
  if (dtype == DType::float32) return run(float{}, float{});
  run(double{}, double{});
}

}  // namespace sconce
