// Resizing of 1 to 3 spatial dimensions, an output row at a time.
#include "sconce/kernels/cpu/resize/upsample.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "sconce/base/error.h"
#include "sconce/base/parallel.h"
#include "sconce/base/variants/variants.h"
#include "sconce/generated/resizing_kernels.h"
#include "sconce/kernels/cpu/engine/scratch.h"
#include "sconce/kernels/cpu/resize/resize_blend.h"

namespace sconce {

namespace {

SCONCE_VARIANT(special_nearest, "resize.nearest.special",
               "2-d results of 128 rows and columns together, or channels_last: places in float");
SCONCE_VARIANT(in_doubles, "resize.taps.double", "places and weights in float64");
SCONCE_VARIANT(whole_pixels, "resize.nearest.pixels", "channels_last, pixels of 64 bytes or more");
SCONCE_VARIANT(padded_rows, "resize.nearest.padded", "rows shorter than two vectors");
SCONCE_VARIANT(repeated_rows, "resize.nearest.repeated", "a row that shows the source row of the one before");
SCONCE_VARIANT(byte_images, "resize.bytes", "uint8 that is not resized to its nearest neighbours");
SCONCE_VARIANT(doubled, "resize.nearest.steps", "the same or twice the size");

// Input and output of one layout, and the taps of each dimension.
struct Images {
  Tensor x;
  bool pixels;  // channels_last
  int64_t images, channels;
  int64_t in[3] = {1, 1, 1}, out[3] = {1, 1, 1};
  ResizeTaps taps[3] = {identity_taps(1), identity_taps(1), identity_taps(1)};

  Images(const Tensor& self, const Tensor& result, int rank, ResizeMode mode, bool align_corners,
         const ResizeScale* scales)
      : pixels(!result.is_contiguous()) {
    x = contiguous_tensor(self, !pixels     ? MemoryFormat::contiguous
                                : rank == 2 ? MemoryFormat::channels_last
                                            : MemoryFormat::channels_last_3d);
    images = self.size(0) * (pixels ? 1 : self.size(1));
    channels = pixels ? self.size(1) : 1;
    const bool nearest = mode == ResizeMode::nearest || mode == ResizeMode::nearest_exact;
    const bool antialias = is_antialias(mode);
    // PyTorch finds nearest neighbours with one kernel for channels_last and small images, in float, or a general one.
    const bool small = rank == 2 && result.size(2) + result.size(3) <= 128;
    const bool special = nearest && special_nearest(small || (pixels && (rank == 2 || channels > 3)));
    const bool in_double = !special && (self.dtype() == DType::float64 || (!nearest && self.dtype() == DType::uint8));
    for (int i = 0; i < rank; ++i) {
      const int d = 3 - rank + i;
      in[d] = self.size(2 + i);
      out[d] = result.size(2 + i);
      SCONCE_CHECK(in[d] * channels <= INT32_MAX && out[d] * channels <= INT32_MAX,
                   "resizing of rows with 2^31 or more elements is not supported, got {}", self.sizes());
      taps[d] = in_doubles(in_double) ? resize_taps<double>(mode, in[d], out[d], align_corners, scales[i])
                                      : resize_taps<float>(mode, in[d], out[d], align_corners, scales[i]);
      const bool separate = antialias || (self.dtype() == DType::uint8 && !nearest);  // one dimension after the other
      if (separate && in[d] == out[d]) taps[d] = identity_taps(in[d]);
      if (mode != ResizeMode::nearest || !special) continue;
      if (const auto steps = whole_steps(in[d], out[d]); doubled(steps.has_value())) taps[d] = *steps;
    }
  }
  int64_t rows() const { return images * out[0] * out[1]; }
  int64_t in_row() const { return in[2] * channels; }
  int64_t out_row() const { return out[2] * channels; }
};

void pick_nearest(const Images& m, const Tensor& result) {
  const ResizeKernels& k = resize_kernels();
  const auto item = static_cast<int64_t>(result.item_size());
  const int64_t in_row = m.in_row(), out_row = m.out_row();
  const bool whole = whole_pixels(m.pixels && m.channels * item >= 64);  // a pixel is worth a memcpy
  const ResizeColumnArrays columns(m.taps[2], m.channels, !whole, item == 4, in_row);
  const auto pick = k.pick[item == 1 ? 0 : item == 2 ? 1 : item == 4 ? 2 : 3];
  const char* x = m.x.data<char>();
  char* y = result.data<char>();
  const bool padded = in_row < 2 * k.lanes;  // a vector would reach past the row
  parallel_for(m.rows(), grain_for(out_row), [&](int64_t from, int64_t to) {
    Scratch scratch;
    char* copy = scratch.take<char>(padded ? (2 * k.lanes + kResizeSlack) * item : 1);
    int64_t before = -1;
    for (int64_t r = from; r < to; ++r) {
      const int64_t image = r / (m.out[0] * m.out[1]), d = r / m.out[1] % m.out[0], h = r % m.out[1];
      const int64_t source = (image * m.in[0] + m.taps[0].index[static_cast<size_t>(d)]) * m.in[1] +
                             m.taps[1].index[static_cast<size_t>(h)];
      char* target = y + r * out_row * item;
      if (repeated_rows(source == before)) {  // rows repeat where the image grows
        std::memcpy(target, target - out_row * item, static_cast<size_t>(out_row * item));
        continue;
      }
      before = source;
      const char* row = x + source * in_row * item;
      if (whole) {
        const int64_t pixel = m.channels * item;
        for (int64_t w = 0; w < m.out[2]; ++w) {
          std::memcpy(target + w * pixel, row + m.taps[2].index[static_cast<size_t>(w)] * pixel,
                      static_cast<size_t>(pixel));
        }
        continue;
      }
      if (padded_rows(padded)) {
        std::memcpy(copy, row, static_cast<size_t>(in_row * item));
        row = copy;
      }
      pick(target, row, columns.columns);
    }
  });
}

// Images of bytes: PyTorch rounds the weights of a dimension to multiples of a power of two that fit 16 bits, and the
// result of each dimension to a byte, width first.
struct ByteTaps {
  int64_t count;
  int shift = 0;
  std::vector<int32_t> index, weight;  // per output element

  explicit ByteTaps(const ResizeTaps& taps) : count(taps.count) {
    std::vector<double> exact;
    for (int64_t i = 0; i < taps.out; ++i) {
      for (int64_t j = 0; j < count; ++j) {
        const auto at = static_cast<size_t>(j * taps.out + i);
        index.push_back(taps.index[at]);
        exact.push_back(taps.weight[at]);
        // Taps that the border moved to one element weigh as one.
        if (j > 0 && taps.index[at] == index[index.size() - 2]) {
          exact.back() += exact[exact.size() - 2];
          exact[exact.size() - 2] = 0;
        }
      }
    }
    const double largest = exact.empty() ? 0 : *std::max_element(exact.begin(), exact.end());
    while (shift < 22 && 0.5 + largest * static_cast<double>(int64_t{1} << (shift + 1)) < 32768) ++shift;
    for (const double w : exact) {
      weight.push_back(static_cast<int32_t>(w * static_cast<double>(int64_t{1} << shift) + (w < 0 ? -0.5 : 0.5)));
    }
  }
  // The weighted sum of elements that stand `step` apart.
  uint8_t blend(const uint8_t* in, int64_t step, int64_t i) const {
    int64_t sum = shift > 0 ? int64_t{1} << (shift - 1) : 0;
    for (int64_t j = i * count; j < (i + 1) * count; ++j) {
      sum += int64_t{weight[static_cast<size_t>(j)]} * in[index[static_cast<size_t>(j)] * step];
    }
    return static_cast<uint8_t>(std::clamp<int64_t>(sum >> shift, 0, 255));
  }
};

void blend_bytes(const Images& m, const Tensor& result) {
  const ByteTaps height(m.taps[1]), width(m.taps[2]);
  const int64_t in_row = m.in_row(), out_row = m.out_row(), c = m.channels;
  parallel_for(m.images, 1, [&](int64_t from, int64_t to) {
    std::vector<uint8_t> middle(static_cast<size_t>(m.in[1] * out_row));
    for (int64_t image = from; image < to; ++image) {
      const uint8_t* x = m.x.data<uint8_t>() + image * m.in[1] * in_row;
      uint8_t* y = result.data<uint8_t>() + image * m.out[1] * out_row;
      for (int64_t h = 0; h < m.in[1]; ++h) {
        for (int64_t i = 0; i < out_row; ++i) {
          middle[static_cast<size_t>(h * out_row + i)] = width.blend(x + h * in_row + i % c, c, i / c);
        }
      }
      for (int64_t h = 0; h < m.out[1]; ++h) {
        for (int64_t i = 0; i < out_row; ++i) y[h * out_row + i] = height.blend(middle.data() + i, out_row, h);
      }
    }
  });
}

void run(const Tensor& self, const Tensor& out, int rank, ResizeMode mode, bool align_corners,
         std::initializer_list<ResizeScale> scales) {
  const DType t = self.dtype();
  const bool nearest = mode == ResizeMode::nearest || mode == ResizeMode::nearest_exact;
  const bool antialias = is_antialias(mode);
  const bool bytes = t == DType::uint8 && (nearest || rank == 2);
  SCONCE_CHECK_AS(not_implemented, bytes || (antialias ? t == DType::float32 || t == DType::float64 : is_floating(t)),
                  "\"{}\" not implemented for '{}'",
                  antialias                   ? "compute_index_ranges_weights"
                  : nearest                   ? "compute_indices_weights_nearest"
                  : mode == ResizeMode::cubic ? "compute_indices_weights_cubic"
                                              : "compute_indices_weights_linear",
                  dtype_legacy_name(t));
  if (out.numel() == 0) return;
  const Images m(self, out, rank, mode, align_corners, scales.begin());
  if (nearest) return pick_nearest(m, out);
  if (byte_images(bytes)) return blend_bytes(m, out);
  blend_images(m.x, out, rank, m.taps, antialias);
}

}  // namespace

OutSpec resized_spec(const Tensor& self, int rank, IntList output_size) {
  SCONCE_CHECK(static_cast<int>(output_size.size()) == rank, "It is expected output_size equals to {}, but got size {}",
               rank, output_size.size());
  SCONCE_CHECK(self.dim() == rank + 2, "It is expected input_size equals to {}, but got size {}", rank + 2, self.dim());
  OutSpec spec{Dims(self.sizes()), self.dtype(), suggested_format(self)};
  for (int i = 0; i < rank; ++i) {
    spec.sizes[static_cast<size_t>(i) + 2] = output_size[static_cast<size_t>(i)];
    SCONCE_CHECK(self.size(2 + i) > 0 && output_size[static_cast<size_t>(i)] > 0,
                 "Input and output sizes should be greater than 0, but got input {} output {}", self.sizes(),
                 output_size);
  }
  SCONCE_CHECK(self.numel() != 0 || self.size(0) == 0, "Non-empty data tensor expected but got a tensor with sizes {}",
               self.sizes());
  return spec;
}

namespace any_device {

#define SCONCE_SPEC1(name) \
  OutSpec name##_spec(const Tensor& self, IntList size, ResizeScale) { return resized_spec(self, 1, size); }
#define SCONCE_SPEC2(name)                                                          \
  OutSpec name##_spec(const Tensor& self, IntList size, ResizeScale, ResizeScale) { \
    return resized_spec(self, 2, size);                                             \
  }
#define SCONCE_SPEC3(name)                                                                       \
  OutSpec name##_spec(const Tensor& self, IntList size, ResizeScale, ResizeScale, ResizeScale) { \
    return resized_spec(self, 3, size);                                                          \
  }
SCONCE_SPEC1(upsample_nearest1d)
SCONCE_SPEC2(upsample_nearest2d)
SCONCE_SPEC3(upsample_nearest3d)
SCONCE_SPEC1(_upsample_nearest_exact1d)
SCONCE_SPEC2(_upsample_nearest_exact2d)
SCONCE_SPEC3(_upsample_nearest_exact3d)
#undef SCONCE_SPEC1
#undef SCONCE_SPEC2
#undef SCONCE_SPEC3
OutSpec upsample_linear1d_spec(const Tensor& self, IntList size, bool, ResizeScale) {
  return resized_spec(self, 1, size);
}
OutSpec upsample_bilinear2d_spec(const Tensor& self, IntList size, bool, ResizeScale, ResizeScale) {
  return resized_spec(self, 2, size);
}
OutSpec upsample_bicubic2d_spec(const Tensor& self, IntList size, bool, ResizeScale, ResizeScale) {
  return resized_spec(self, 2, size);
}
OutSpec _upsample_bilinear2d_aa_spec(const Tensor& self, IntList size, bool, ResizeScale, ResizeScale) {
  return resized_spec(self, 2, size);
}
OutSpec _upsample_bicubic2d_aa_spec(const Tensor& self, IntList size, bool, ResizeScale, ResizeScale) {
  return resized_spec(self, 2, size);
}
OutSpec _upsample_lanczos2d_aa_spec(const Tensor& self, IntList size, bool, ResizeScale, ResizeScale) {
  return resized_spec(self, 2, size);
}
OutSpec upsample_trilinear3d_spec(const Tensor& self, IntList size, bool, ResizeScale, ResizeScale, ResizeScale) {
  return resized_spec(self, 3, size);
}

}  // namespace any_device

namespace cpu {

void upsample_nearest1d(const Tensor& self, IntList, ResizeScale w, const Tensor& out) {
  run(self, out, 1, ResizeMode::nearest, false, {w});
}
void upsample_nearest2d(const Tensor& self, IntList, ResizeScale h, ResizeScale w, const Tensor& out) {
  run(self, out, 2, ResizeMode::nearest, false, {h, w});
}
void upsample_nearest3d(const Tensor& self, IntList, ResizeScale d, ResizeScale h, ResizeScale w, const Tensor& out) {
  run(self, out, 3, ResizeMode::nearest, false, {d, h, w});
}
void _upsample_nearest_exact1d(const Tensor& self, IntList, ResizeScale w, const Tensor& out) {
  run(self, out, 1, ResizeMode::nearest_exact, false, {w});
}
void _upsample_nearest_exact2d(const Tensor& self, IntList, ResizeScale h, ResizeScale w, const Tensor& out) {
  run(self, out, 2, ResizeMode::nearest_exact, false, {h, w});
}
void _upsample_nearest_exact3d(const Tensor& self, IntList, ResizeScale d, ResizeScale h, ResizeScale w,
                               const Tensor& out) {
  run(self, out, 3, ResizeMode::nearest_exact, false, {d, h, w});
}
void upsample_linear1d(const Tensor& self, IntList, bool align_corners, ResizeScale w, const Tensor& out) {
  run(self, out, 1, ResizeMode::linear, align_corners, {w});
}
void upsample_bilinear2d(const Tensor& self, IntList, bool align_corners, ResizeScale h, ResizeScale w,
                         const Tensor& out) {
  run(self, out, 2, ResizeMode::linear, align_corners, {h, w});
}
void upsample_bicubic2d(const Tensor& self, IntList, bool align_corners, ResizeScale h, ResizeScale w,
                        const Tensor& out) {
  run(self, out, 2, ResizeMode::cubic, align_corners, {h, w});
}
void _upsample_bilinear2d_aa(const Tensor& self, IntList, bool align_corners, ResizeScale h, ResizeScale w,
                             const Tensor& out) {
  run(self, out, 2, ResizeMode::linear_antialias, align_corners, {h, w});
}
void _upsample_bicubic2d_aa(const Tensor& self, IntList, bool align_corners, ResizeScale h, ResizeScale w,
                            const Tensor& out) {
  run(self, out, 2, ResizeMode::cubic_antialias, align_corners, {h, w});
}
void _upsample_lanczos2d_aa(const Tensor& self, IntList, bool align_corners, ResizeScale h, ResizeScale w,
                            const Tensor& out) {
  run(self, out, 2, ResizeMode::lanczos_antialias, align_corners, {h, w});
}
void upsample_trilinear3d(const Tensor& self, IntList, bool align_corners, ResizeScale d, ResizeScale h, ResizeScale w,
                          const Tensor& out) {
  run(self, out, 3, ResizeMode::linear, align_corners, {d, h, w});
}

}  // namespace cpu
}  // namespace sconce
