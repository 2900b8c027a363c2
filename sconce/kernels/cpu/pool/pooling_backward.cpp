// Gradients of pooling: every output hands its gradient to the element it came from (max), or to all elements of
// its window (average).
#include <algorithm>
#include <vector>

#include "sconce/base/error.h"
#include "sconce/base/parallel.h"
#include "sconce/base/variants/variants.h"
#include "sconce/generated/pooling_kernels.h"
#include "sconce/kernels/cpu/engine/accumulate.h"
#include "sconce/kernels/cpu/engine/cpu_level.h"
#include "sconce/kernels/cpu/engine/image_blocks.h"
#include "sconce/kernels/cpu/pool/pool_geometry.h"
#include "sconce/kernels/cpu/pool/pool_kernels.h"
#include "sconce/kernels/cpu/resize/resize_blend.h"

namespace sconce {
namespace {

// Runs f<T>(gradients in, gradients out), both in the layout of grad_input. 16-bit floats are added up as such,
// rounding every time: PyTorch's sums.
template <class F>
void compute(const Tensor& grad_output, const Tensor& grad_input, const ImageBlocks& images, F&& f) {
  const Tensor g = contiguous_tensor(grad_output, images.format(grad_input));
  const auto call = [&]<class T>() { f.template operator()<T>(g.data<T>(), grad_input.data<T>()); };
  switch (grad_output.dtype()) {
    case DType::float16:
      return call.template operator()<Half>();
    case DType::bfloat16:
      return call.template operator()<BFloat16>();
    case DType::float32:
      return call.template operator()<float>();
    case DType::float64:
      return call.template operator()<double>();
    default:
      return call.template operator()<int64_t>();
  }
}

void check_same_dtype(const Tensor& grad_output, const Tensor& self) {
  SCONCE_CHECK(grad_output.dtype() == self.dtype(), "expected dtype {} for `grad_output` but got dtype {}",
               dtype_name(self.dtype()), dtype_name(grad_output.dtype()));
}

SCONCE_VARIANT(spread, "pool.average.backward.planes", "float32 or float64, one window for a whole contiguous plane");
SCONCE_VARIANT(blended, "pool.average.backward.blend", "float32 or float64: the transpose of resizing");
SCONCE_VARIANT(by_planes, "pool.max.backward.planes", "contiguous planes");

template <class T>
void clear(T* out, int64_t places, int64_t channels, int64_t c0, int64_t c1) {
  if (channels == 1) {
    std::fill_n(out, places, T{});
    return;
  }
  for (int64_t i = 0; i < places; ++i) std::fill(out + i * channels + c0, out + i * channels + c1, T{});
}

// A view with a batch dimension.
Tensor batched(const Tensor& t, int rank) {
  if (t.dim() == rank + 2) return t;
  Dims sizes{1}, strides{t.numel()};
  for (int64_t d = 0; d < t.dim(); ++d) {
    sizes.push_back(t.size(d));
    strides.push_back(t.stride(d));
  }
  return make_view(t, sizes, strides, t.storage_offset());
}

// Which outputs each element of a dimension is part of, with the share it gets.
ResizeTaps shares(const PoolAxis& a, bool count_padding, std::optional<int64_t> divisor) {
  TapLists lists(static_cast<size_t>(a.in));
  for (int64_t i = 0; i < a.out; ++i) {
    const int64_t count = divisor ? *divisor : count_padding ? a.padded(i) : a.inside(i);
    for (int64_t k = a.first(i); k < a.last(i); ++k) {
      lists[static_cast<size_t>(k)].emplace_back(static_cast<int32_t>(i), 1.0 / static_cast<double>(count));
    }
  }
  return taps_of(lists);
}

// One gradient for each plane: all elements get the same share.
void spread_planes(const Tensor& grad_output, const Tensor& grad_input) {
  const int64_t planes = grad_output.numel(), n = grad_input.numel() / planes;
  const Tensor g = contiguous_tensor(grad_output);
  const auto spread = [&]<class T>() {
    parallel_for(planes, grain_for(2 * n), [&](int64_t from, int64_t to) {
      for (int64_t i = from; i < to; ++i) {
        std::fill_n(grad_input.data<T>() + i * n, n, g.data<T>()[i] / static_cast<T>(n));
      }
    });
  };
  if (grad_input.dtype() == DType::float32) {
    spread.template operator()<float>();
  } else {
    spread.template operator()<double>();
  }
}

void average_backward(const Pool& p, const Tensor& grad_output, const Tensor& grad_input, bool count_padding,
                      std::optional<int64_t> divisor) {
  if (grad_input.numel() == 0) return;
  const ImageBlocks images(grad_input, p.rank);
  if (blended(grad_output.dtype() == DType::float32 || grad_output.dtype() == DType::float64)) {
    if (spread(p.out_plane() == 1 && p.axis[2].adaptive && !images.pixels))
      return spread_planes(grad_output, grad_input);
    // The whole divisor goes with the width.
    const std::optional<int64_t> none = divisor ? std::optional<int64_t>(1) : std::nullopt;
    const ResizeTaps taps[3] = {shares(p.axis[0], count_padding, none), shares(p.axis[1], count_padding, none),
                                shares(p.axis[2], count_padding, divisor)};
    const Tensor g = contiguous_tensor(grad_output, images.format(grad_input));
    return blend_images(batched(g, p.rank), batched(grad_input, p.rank), p.rank, taps);
  }
  const int64_t in_plane = p.in_plane(), out_plane = p.out_plane();
  compute(grad_output, grad_input, images, [&]<class T>(const T* gradients, T* out) {
    images.for_each(in_plane, [&](int64_t image, int64_t c0, int64_t c1) {
      const int64_t channels = images.channels;
      const T* g = gradients + image * out_plane * channels;
      T* y = out + image * in_plane * channels;
      clear(y, in_plane, channels, c0, c1);
      const PoolAxis &a = p.axis[0], &b = p.axis[1], &e = p.axis[2];
      for (int64_t d = 0; d < a.out; ++d) {
        for (int64_t h = 0; h < b.out; ++h) {
          for (int64_t w = 0; w < e.out; ++w, g += channels) {
            const int64_t count = divisor         ? *divisor
                                  : count_padding ? a.padded(d) * b.padded(h) * e.padded(w)
                                                  : a.inside(d) * b.inside(h) * e.inside(w);
            T share[ImageBlocks::block];
            const auto divisor_of_all =
                widened(narrowed<T>(static_cast<decltype(widened(T{}))>(count == 0 ? 1 : count)));
            for (int64_t c = c0; c < c1; ++c) share[c - c0] = narrowed<T>(widened(g[c]) / divisor_of_all);
            for (int64_t i = a.first(d); i < a.last(d); ++i) {
              for (int64_t j = b.first(h); j < b.last(h); ++j) {
                T* row = y + ((i * b.in + j) * e.in) * channels;
                for (int64_t k = e.first(w); k < e.last(w); ++k) {
                  for (int64_t c = c0; c < c1; ++c)
                    row[k * channels + c] = add_elements(row[k * channels + c], share[c - c0]);
                }
              }
            }
          }
        }
      }
    });
  });
}

void max_backward(int rank, const Tensor& grad_output, const Tensor& indices, const Tensor& grad_input,
                  const char* name) {
  SCONCE_CHECK(indices.dtype() == DType::int64, "{}: expected indices of dtype int64, got {}", name,
               dtype_name(indices.dtype()));
  SCONCE_CHECK(indices.sizes() == grad_output.sizes(),
               "{}: expected indices to have the shape of grad_output {}, got {}", name, grad_output.sizes(),
               indices.sizes());
  if (grad_input.numel() == 0) return;
  const ImageBlocks images(grad_input, rank);
  int64_t in_plane = 1, out_plane = 1;
  for (int i = 0; i < rank; ++i) {
    in_plane *= grad_input.size(grad_input.dim() - rank + i);
    out_plane *= grad_output.size(grad_output.dim() - rank + i);
  }
  const Tensor places = contiguous_tensor(indices, images.format(grad_input));
  const auto* place = places.data<int64_t>();
  parallel_for(places.numel(), 65536, [&](int64_t from, int64_t to) {
    if (at_cpu_level(SCONCE_OF_EACH_LEVEL(all_inside))(place + from, to - from, in_plane)) return;
    const auto* found = std::find_if(place + from, place + to, [&](int64_t at) { return at < 0 || at >= in_plane; });
    fail("{}: found an invalid max index {} (planes have {} elements)", name, *found, in_plane);
  });
  compute(grad_output, grad_input, images, [&]<class T>(const T* gradients, T* out) {
    images.for_each(in_plane, [&](int64_t image, int64_t c0, int64_t c1) {
      const int64_t channels = images.channels;
      const T* g = gradients + image * out_plane * channels;
      const int64_t* at = place + image * out_plane * channels;
      T* y = out + image * in_plane * channels;
      clear(y, in_plane, channels, c0, c1);
      if (by_planes(channels == 1)) {
        for (int64_t i = 0; i < out_plane; ++i) y[at[i]] = add_elements(y[at[i]], g[i]);
        return;
      }
      for (int64_t i = 0; i < out_plane; ++i) {
        for (int64_t c = c0; c < c1; ++c) {
          T& sum = y[at[i * channels + c] * channels + c];
          sum = add_elements(sum, g[i * channels + c]);
        }
      }
    });
  });
}

OutSpec like_self(const Tensor& self, int rank, PoolFormat format) {
  OutSpec spec{Dims(self.sizes()), self.dtype(), suggested_format(self)};
  if (self.dim() != rank + 2 || format == PoolFormat::contiguous) spec.format = MemoryFormat::contiguous;
  return spec;
}

// grad_output must have the shape that pooling self would give.
void check_shape(const Tensor& grad_output, const OutSpec& expected, const char* name) {
  SCONCE_CHECK(grad_output.sizes() == IntList(expected.sizes), "{}: expected grad_output of shape {}, got {}", name,
               IntList(expected.sizes), grad_output.sizes());
}

OutSpec window_spec(const Tensor& grad_output, const Tensor& self, int rank, IntList kernel, IntList stride,
                    IntList padding, IntList dilation, bool ceil_mode, PoolFormat format, const char* name) {
  check_shape(grad_output, pooled_spec(self, window_pool(self, rank, kernel, stride, padding, dilation, ceil_mode)),
              name);
  check_same_dtype(grad_output, self);
  return like_self(self, rank, format);
}

// Adaptive pooling: grad_output may have any size in the pooled dimensions.
OutSpec adaptive_spec(const Tensor& grad_output, const Tensor& self, int rank, PoolFormat format, const char* name) {
  SCONCE_CHECK(grad_output.dim() == rank + 1 || grad_output.dim() == rank + 2,
               "{}(): Expected {}D or {}D tensor, but got {}", name, rank + 1, rank + 2, grad_output.sizes());
  for (int64_t d = grad_output.dim() == rank + 2 ? 1 : 0; d < grad_output.dim(); ++d) {
    SCONCE_CHECK(
        grad_output.size(d) > 0,
        "{}(): Expected grad_output to have non-zero size for non-batch dimensions, but grad_output has sizes {}", name,
        grad_output.sizes());
  }
  const IntList sizes = grad_output.sizes();
  check_shape(grad_output,
              pooled_spec(self, adaptive_pool(self, rank, IntList(sizes.end() - rank, static_cast<size_t>(rank)))),
              name);
  check_same_dtype(grad_output, self);
  return like_self(self, rank, format);
}

OutSpec fractional_spec(const Tensor& grad_output, const Tensor& self, int rank, IntList output_size,
                        const char* name) {
  SCONCE_CHECK(self.dim() == rank + 1 || self.dim() == rank + 2, "{}: expected self of {} or {} dimensions, got {}",
               name, rank + 1, rank + 2, self.sizes());
  OutSpec expected{Dims(self.sizes()), self.dtype()};
  for (int i = 0; i < rank; ++i) {
    expected.sizes[static_cast<size_t>(self.dim() - rank + i)] = pool_value(output_size, rank, i, "output_size");
  }
  check_shape(grad_output, expected, name);
  check_same_dtype(grad_output, self);
  return like_self(self, rank, PoolFormat::contiguous);
}

}  // namespace

namespace any_device {

#define SCONCE_AVERAGE_BACKWARD_SPEC(name, rank, format)                                                              \
  OutSpec name##_spec(const Tensor& grad_output, const Tensor& self, IntList kernel, IntList stride, IntList padding, \
                      bool ceil_mode, bool, std::optional<int64_t> divisor) {                                         \
    SCONCE_CHECK(!divisor || *divisor != 0, "divisor must be not zero");                                              \
    return window_spec(grad_output, self, rank, kernel, stride, padding, kNoDilation, ceil_mode, format, #name);      \
  }
SCONCE_AVERAGE_BACKWARD_SPEC(avg_pool2d_backward, 2, PoolFormat::follow)
SCONCE_AVERAGE_BACKWARD_SPEC(avg_pool3d_backward, 3, PoolFormat::contiguous)
#undef SCONCE_AVERAGE_BACKWARD_SPEC

#define SCONCE_MAX_BACKWARD_SPEC(name, rank)                                                                          \
  OutSpec name##_spec(const Tensor& grad_output, const Tensor& self, IntList kernel, IntList stride, IntList padding, \
                      IntList dilation, bool ceil_mode, const Tensor&) {                                              \
    return window_spec(grad_output, self, rank, kernel, stride, padding, dilation, ceil_mode, PoolFormat::follow,     \
                       #name);                                                                                        \
  }
SCONCE_MAX_BACKWARD_SPEC(max_pool2d_with_indices_backward, 2)
SCONCE_MAX_BACKWARD_SPEC(max_pool3d_with_indices_backward, 3)
#undef SCONCE_MAX_BACKWARD_SPEC

OutSpec _adaptive_avg_pool2d_backward_spec(const Tensor& grad_output, const Tensor& self) {
  return adaptive_spec(grad_output, self, 2, PoolFormat::follow, "adaptive_avg_pool2d_backward");
}
OutSpec _adaptive_avg_pool3d_backward_spec(const Tensor& grad_output, const Tensor& self) {
  return adaptive_spec(grad_output, self, 3, PoolFormat::contiguous, "adaptive_avg_pool3d_backward");
}
OutSpec adaptive_max_pool2d_backward_spec(const Tensor& grad_output, const Tensor& self, const Tensor&) {
  return adaptive_spec(grad_output, self, 2, PoolFormat::follow, "adaptive_max_pool2d_backward");
}
OutSpec adaptive_max_pool3d_backward_spec(const Tensor& grad_output, const Tensor& self, const Tensor&) {
  return adaptive_spec(grad_output, self, 3, PoolFormat::contiguous, "adaptive_max_pool3d_backward");
}
OutSpec fractional_max_pool2d_backward_spec(const Tensor& grad_output, const Tensor& self, IntList, IntList output_size,
                                            const Tensor&) {
  return fractional_spec(grad_output, self, 2, output_size, "fractional_max_pool2d_backward");
}
OutSpec fractional_max_pool3d_backward_spec(const Tensor& grad_output, const Tensor& self, IntList, IntList output_size,
                                            const Tensor&) {
  return fractional_spec(grad_output, self, 3, output_size, "fractional_max_pool3d_backward");
}

}  // namespace any_device

namespace cpu {

void avg_pool2d_backward(const Tensor& grad_output, const Tensor& self, IntList kernel, IntList stride, IntList padding,
                         bool ceil_mode, bool count_include_pad, std::optional<int64_t> divisor, const Tensor& out) {
  check_pool_dtype(self, PoolTypes::floats_and_int64, "avg_pool2d_backward");
  average_backward(window_pool(self, 2, kernel, stride, padding, kNoDilation, ceil_mode), grad_output, out,
                   count_include_pad, divisor);
}
void avg_pool3d_backward(const Tensor& grad_output, const Tensor& self, IntList kernel, IntList stride, IntList padding,
                         bool ceil_mode, bool count_include_pad, std::optional<int64_t> divisor, const Tensor& out) {
  check_pool_dtype(self, PoolTypes::full_floats_and_int64, "avg_pool3d_backward_out_frame");
  average_backward(window_pool(self, 3, kernel, stride, padding, kNoDilation, ceil_mode), grad_output, out,
                   count_include_pad, divisor);
}
void _adaptive_avg_pool2d_backward(const Tensor& grad_output, const Tensor& self, const Tensor& out) {
  check_pool_dtype(self, PoolTypes::floats, "adaptive_avg_pool2d_backward");
  const IntList sizes = grad_output.sizes();
  average_backward(adaptive_pool(self, 2, IntList(sizes.end() - 2, 2)), grad_output, out, false, {});
}
void _adaptive_avg_pool3d_backward(const Tensor& grad_output, const Tensor& self, const Tensor& out) {
  check_pool_dtype(self, PoolTypes::floats, "adaptive_avg_pool3d_backward_cpu");
  const IntList sizes = grad_output.sizes();
  average_backward(adaptive_pool(self, 3, IntList(sizes.end() - 3, 3)), grad_output, out, false, {});
}
void max_pool2d_with_indices_backward(const Tensor& grad_output, const Tensor& self, IntList, IntList, IntList, IntList,
                                      bool, const Tensor& indices, const Tensor& out) {
  check_pool_dtype(self, PoolTypes::floats, "max_pool2d_backward");
  max_backward(2, grad_output, indices, out, "max_pool2d_backward");
}
void max_pool3d_with_indices_backward(const Tensor& grad_output, const Tensor& self, IntList, IntList, IntList, IntList,
                                      bool, const Tensor& indices, const Tensor& out) {
  check_pool_dtype(self, PoolTypes::floats, "max_pool3d_backward");
  max_backward(3, grad_output, indices, out, "max_pool3d_backward");
}
void adaptive_max_pool2d_backward(const Tensor& grad_output, const Tensor& self, const Tensor& indices,
                                  const Tensor& out) {
  check_pool_dtype(self, PoolTypes::floats, "adaptive_max_pool2d_backward");
  max_backward(2, grad_output, indices, out, "adaptive_max_pool2d_backward");
}
void adaptive_max_pool3d_backward(const Tensor& grad_output, const Tensor& self, const Tensor& indices,
                                  const Tensor& out) {
  check_pool_dtype(self, PoolTypes::floats, "adaptive_max_pool3d_backward");
  max_backward(3, grad_output, indices, out, "adaptive_max_pool3d_backward");
}
void fractional_max_pool2d_backward(const Tensor& grad_output, const Tensor& self, IntList, IntList,
                                    const Tensor& indices, const Tensor& out) {
  check_pool_dtype(self, PoolTypes::floats, "fractional_max_pool2d_backward_out_frame");
  max_backward(2, grad_output, indices, out, "fractional_max_pool2d_backward");
}
void fractional_max_pool3d_backward(const Tensor& grad_output, const Tensor& self, IntList, IntList,
                                    const Tensor& indices, const Tensor& out) {
  check_pool_dtype(self, PoolTypes::floats, "fractional_max_pool3d_backward_out_frame");
  max_backward(3, grad_output, indices, out, "fractional_max_pool3d_backward");
}

}  // namespace cpu
}  // namespace sconce
