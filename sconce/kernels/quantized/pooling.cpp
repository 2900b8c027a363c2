// Pooling of quantised tensors: the largest byte of a window, or the mean of its integers, rounded.
#include <algorithm>

#include "sconce/base/error.h"
#include "sconce/base/parallel.h"
#include "sconce/base/variants/variants.h"
#include "sconce/generated/pooling_kernels.h"
#include "sconce/kernels/quantized/quantize.h"
#include "sconce/ops.h"

namespace sconce::quantized {
namespace {

SCONCE_VARIANT(whole_pixels, "quantized.max_pool.pixels", "8 bits, channels_last");

int64_t at(IntList list, size_t i) { return list[list.size() == 1 ? 0 : i]; }

struct Window {
  int64_t kernel, stride, padding, dilation;
  // The first tap inside [0, size), the input place of tap 0 being `origin`, and one more than the last.
  int64_t first(int64_t origin) const { return origin >= 0 ? 0 : (-origin + dilation - 1) / dilation; }
  int64_t last(int64_t origin, int64_t size) const {
    return std::min(kernel, size <= origin ? 0 : (size - origin + dilation - 1) / dilation);
  }
};

// Rows of pixels: the largest of each channel over the window, a pixel at a time.
void max_rows(const Tensor& in, const Tensor& out, const Window& vertical, const Window& horizontal) {
  const int64_t channels = in.size(1), height = in.size(2), width = in.size(3);
  const int64_t out_height = out.size(2), out_width = out.size(3);
  const auto* from = static_cast<const uint8_t*>(in.data());
  auto* to = static_cast<uint8_t*>(out.data());
  const auto take_larger = quantized_loops().take_larger[has_sign(in)];
  const int64_t rows = in.size(0) * out_height;
  parallel_for(rows, grain_for(out_width * channels), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t top = row % out_height * vertical.stride - vertical.padding;
      const uint8_t* image = from + row / out_height * height * width * channels;
      for (int64_t x = 0; x < out_width; ++x) {
        const int64_t left = x * horizontal.stride - horizontal.padding;
        uint8_t* pixel = to + (row * out_width + x) * channels;
        bool any = false;
        for (int64_t i = vertical.first(top); i < vertical.last(top, height); ++i) {
          for (int64_t j = horizontal.first(left); j < horizontal.last(left, width); ++j) {
            const uint8_t* tap =
                image + ((top + i * vertical.dilation) * width + left + j * horizontal.dilation) * channels;
            if (any)
              take_larger(pixel, tap, channels);
            else
              std::copy(tap, tap + channels, pixel);
            any = true;
          }
        }
        if (!any) std::fill(pixel, pixel + channels, has_sign(in) ? 0x80 : 0);
      }
    }
  });
}

}  // namespace

Tensor max_pool1d(const Tensor& self, IntList kernel_size, IntList stride, IntList padding, IntList dilation,
                  bool ceil_mode) {
  return from_centred(sconce::max_pool1d(centred(self), kernel_size, stride, padding, dilation, ceil_mode), self);
}

Tensor max_pool2d(const Tensor& self, IntList kernel_size, IntList stride, IntList padding, IntList dilation,
                  bool ceil_mode) {
  const bool pixels = self.dim() == 4 && self.dtype() != DType::qint32 &&
                      suggested_format(self) == MemoryFormat::channels_last && self.numel() > 0;
  if (!whole_pixels(pixels))
    return from_centred(sconce::max_pool2d(centred(self), kernel_size, stride, padding, dilation, ceil_mode), self);
  const OutSpec spec = any_device::max_pool2d_with_indices_spec(stored_integers(self), kernel_size, stride, padding,
                                                                dilation, ceil_mode)[0];
  const Tensor in = contiguous_quantized(self, MemoryFormat::channels_last);
  const Tensor out = empty_quantized(spec.sizes, self.dtype(), quantizer_pointer(self), MemoryFormat::channels_last);
  const auto window = [&](size_t i) {
    return Window{at(kernel_size, i), stride.empty() ? at(kernel_size, i) : at(stride, i), at(padding, i),
                  at(dilation, i)};
  };
  max_rows(in, out, window(0), window(1));
  return out;
}

Tensor max_pool3d(const Tensor& self, IntList kernel_size, IntList stride, IntList padding, IntList dilation,
                  bool ceil_mode) {
  return from_centred(sconce::max_pool3d(centred(self), kernel_size, stride, padding, dilation, ceil_mode), self);
}

Tensor avg_pool2d(const Tensor& self, IntList kernel_size, IntList stride, IntList padding, bool ceil_mode,
                  bool count_include_pad, std::optional<int64_t> divisor_override) {
  return from_centred(
      sconce::avg_pool2d(centred(self), kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override),
      self);
}

Tensor avg_pool3d(const Tensor& self, IntList kernel_size, IntList stride, IntList padding, bool ceil_mode,
                  bool count_include_pad, std::optional<int64_t> divisor_override) {
  return from_centred(
      sconce::avg_pool3d(centred(self), kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override),
      self);
}

Tensor _adaptive_avg_pool2d(const Tensor& self, IntList output_size) {
  return from_centred(sconce::_adaptive_avg_pool2d(centred(self), output_size), self);
}

Tensor _adaptive_avg_pool3d(const Tensor& self, IntList output_size) {
  return from_centred(sconce::_adaptive_avg_pool3d(centred(self), output_size), self);
}

}  // namespace sconce::quantized
