// Max and average pooling over 1 to 3 spatial dimensions. An output row is computed at a time, from the input rows that
// its windows cover; pool_kernels.h says how.
#include <algorithm>
#include <vector>

#include "sconce/base/error.h"
#include "sconce/base/parallel.h"
#include "sconce/base/variants/variants.h"
#include "sconce/generated/pooling_kernels.h"
#include "sconce/kernels/cpu/engine/accumulate.h"
#include "sconce/kernels/cpu/engine/conversion.h"
#include "sconce/kernels/cpu/engine/cpu_level.h"
#include "sconce/kernels/cpu/engine/row_cache.h"
#include "sconce/kernels/cpu/engine/tile.h"
#include "sconce/kernels/cpu/pool/pool_geometry.h"
#include "sconce/kernels/cpu/pool/pool_kernels.h"

namespace sconce {

namespace {

const PoolKernels& pool_kernels(DType compute) {
  if (compute == DType::float32) return at_cpu_level(SCONCE_OF_EACH_LEVEL(pool_f32));
  return compute == DType::float64 ? at_cpu_level(SCONCE_OF_EACH_LEVEL(pool_f64))
                                   : at_cpu_level(SCONCE_OF_EACH_LEVEL(pool_i64));
}

}  // namespace

namespace {

SCONCE_VARIANT(pixel_rows, "pool.pixels", "channels_last, 2 or 3 dims");
SCONCE_VARIANT(mean_of_pixels, "pool.mean.pixels", "means of whole planes, channels_last, no conversion");
SCONCE_VARIANT(mean_of_planes, "pool.mean.planes", "means of whole planes, contiguous");
SCONCE_VARIANT(plain_planes, "pool.mean.planes.direct", "means of whole planes, no conversion");
SCONCE_VARIANT(several_parts, "pool.mean.pixels.parts", "more than 128 channels");
SCONCE_VARIANT(cached_rows, "pool.rows.cached", "rows that are converted, or split by the stride for a maximum");
SCONCE_VARIANT(split_rows, "pool.rows.split", "windows of fixed size, contiguous");
SCONCE_VARIANT(one_row, "pool.average.one_row", "windows that cover one row");
SCONCE_VARIANT(repeated_sums, "pool.average.volumes.16_bits", "volumes of float16 or bfloat16, averaged adaptively");

constexpr int64_t kSlack = 64;  // elements that a vector may reach past a row

// Input and output as rows of the compute type, which is float32 for the 16-bit floats and int64 for integers.
struct Rows {
  DType dtype, compute;
  const PoolKernels* kernels;
  bool pixels;       // channels_last: a row is [width, channels]
  int64_t channels;  // 1 for planes
  int64_t images;    // batches times channels, or batches
  const char* in;
  char* out;
  size_t compute_size;

  Rows(const Tensor& x, const Tensor& y, bool channels_last, int rank)
      : dtype(x.dtype()),
        compute(is_reduced_float(dtype) ? DType::float32
                : is_integral(dtype)    ? DType::int64
                                        : dtype),
        kernels(&pool_kernels(compute)),
        pixels(channels_last),
        in(x.data<char>()),
        out(y.data<char>()),
        compute_size(item_size(compute)) {
    const int64_t all = x.size(x.dim() - rank - 1), batch = x.dim() == rank + 2 ? x.size(0) : 1;
    channels = pixels ? all : 1;
    images = pixels ? batch : batch * all;
  }
  bool same() const { return dtype == compute; }
  const void* in_at(int64_t element) const { return in + element * static_cast<int64_t>(item_size(dtype)); }
  void* out_at(int64_t element) const { return out + element * static_cast<int64_t>(item_size(dtype)); }
  void widen(void* to, const void* from, int64_t n) const { conversion(tile_kernels(), dtype, compute)(to, from, n); }
  void narrow(void* to, const void* from, int64_t n) const { conversion(tile_kernels(), compute, dtype)(to, from, n); }
};

int64_t longest_window(const PoolAxis& a) {
  int64_t longest = 1;
  for (int64_t i = 0; i < a.out; ++i) longest = std::max(longest, a.end(i) - a.begin(i));
  return a.adaptive ? longest : (a.kernel - 1) * a.dilation + 1;  // fits: window_pool
}

// The state that all rows of one call share.
struct Columns {
  std::vector<int32_t> begin, end, skipped;
  std::vector<int64_t> tap_offsets, tap_places;
  std::vector<double> divisors;
  int64_t pitch;  // of a phase

  explicit Columns(const PoolAxis& a) {
    const auto padded = static_cast<size_t>(a.out + kSlack);
    begin.resize(padded);
    end.resize(padded);
    skipped.resize(padded);
    divisors.resize(padded, 1);
    for (int64_t i = 0; i < a.out; ++i) {
      const auto k = static_cast<size_t>(i);
      begin[k] = static_cast<int32_t>(a.first(i));
      end[k] = static_cast<int32_t>(a.last(i));
      skipped[k] = static_cast<int32_t>(a.first(i) - a.begin(i));
    }
    if (a.adaptive) return;
    const int64_t covered = (a.out - 1) * a.stride + (a.kernel - 1) * a.dilation + 1;  // fits: window_pool
    pitch = (covered + a.stride - 1) / a.stride + kSlack;
    for (int64_t j = 0; j < a.kernel; ++j) {
      const int64_t at = j * a.dilation;
      tap_places.push_back(at);
      tap_offsets.push_back(at % a.stride * pitch + at / a.stride);
    }
  }
};

struct Averaging {
  bool count_padding = false;
  std::optional<int64_t> divisor;
};

double or_one(int64_t count) { return count == 0 ? 1.0 : static_cast<double>(count); }

// Windows of one output row: the input rows they cover.
struct RowWindow {
  int64_t first[3], last[3];
  int64_t divisor;  // their number in depth and height, border included where it counts
};
RowWindow row_window(const Pool& p, int64_t d, int64_t h, bool count_padding) {
  const PoolAxis &a = p.axis[0], &b = p.axis[1];
  return {{a.first(d), b.first(h), 0},
          {a.last(d), b.last(h), 0},
          count_padding ? a.padded(d) * b.padded(h) : a.inside(d) * b.inside(h)};
}

void run(const Pool& p, const Tensor& self, const Tensor& out, const Tensor* indices, const Averaging& averaging) {
  if (out.numel() == 0) return;
  SCONCE_CHECK(p.in_plane() <= INT32_MAX, "pooling of planes with 2^31 or more elements is not supported, got {}",
               self.sizes());
  // Results of one pixel are dense in both formats: then the input decides. Means of whole planes of narrow numbers
  // are taken of planes.
  const MemoryFormat last = out.dim() == 4 ? MemoryFormat::channels_last : MemoryFormat::channels_last_3d;
  const bool whole_planes = indices == nullptr && p.out_plane() == 1 && p.axis[2].adaptive;
  const bool narrow_means = whole_planes && is_reduced_float(self.dtype());
  const bool pixels = !out.is_contiguous() || (out.dim() == p.rank + 2 && out.is_contiguous(last) &&
                                               self.is_contiguous(last) && !self.is_contiguous() && !narrow_means);
  const MemoryFormat format = pixel_rows(pixels) ? last : MemoryFormat::contiguous;
  SCONCE_ASSERT(out.is_contiguous(format) && (!indices || indices->is_contiguous(format)));
  const Tensor x = contiguous_tensor(self, format);
  const Rows rows(x, out, pixels, p.rank);
  const PoolAxis &depth = p.axis[0], &height = p.axis[1], &width = p.axis[2];
  const PoolKernels& k = *rows.kernels;
  const bool maximum = indices != nullptr;
  const int64_t in_row = width.in * rows.channels, out_row = width.out * rows.channels;

  const int64_t plane_size = p.in_plane();
  if (mean_of_pixels(whole_planes && pixels && rows.same())) {
    constexpr int64_t together = 128;  // channels: as mean_pixels takes them
    const int64_t parts = (rows.channels + together - 1) / together;
    several_parts(parts > 1);
    parallel_for(rows.images * parts, grain_for(2 * plane_size * together), [&](int64_t from, int64_t to) {
      for (int64_t i = from; i < to; ++i) {
        const int64_t image = i / parts, c = i % parts * together;
        k.mean_pixels(rows.out_at(image * rows.channels + c), rows.in_at(image * plane_size * rows.channels + c),
                      std::min(together, rows.channels - c), rows.channels, plane_size);
      }
    });
    return;
  }
  if (mean_of_planes(whole_planes && !pixels)) {
    plain_planes(rows.same());
    parallel_for(rows.images, grain_for(2 * plane_size), [&](int64_t from, int64_t to) {
      if (rows.same()) return k.mean_planes(rows.out_at(from), rows.in_at(from * plane_size), to - from, plane_size);
      Scratch scratch;
      auto* plane = scratch.take<char>(static_cast<int64_t>(rows.compute_size) * plane_size);
      double mean;
      for (int64_t i = from; i < to; ++i) {
        rows.widen(plane, rows.in_at(i * plane_size), plane_size);
        k.mean_planes(&mean, plane, 1, plane_size);
        rows.narrow(rows.out_at(i), &mean, 1);
      }
    });
    return;
  }

  Columns columns(width);
  for (int64_t i = 0; i < width.out && !maximum && !averaging.divisor; ++i) {
    columns.divisors[static_cast<size_t>(i)] = or_one(averaging.count_padding ? width.padded(i) : width.inside(i));
  }
  const bool phases = split_rows(!pixels && !width.adaptive);  // rows go through split
  const int64_t row_span = longest_window(depth) * longest_window(height);
  const int64_t prepared = phases && maximum ? columns.pitch * width.stride : in_row + kSlack;
  const int64_t cost =
      std::max<int64_t>(1, out_row * row_span * (width.adaptive ? width.in / width.out + 1 : width.kernel));
  const int64_t rows_per_image = depth.out * height.out;
  parallel_for(rows.images * rows_per_image, grain_for(cost), [&](int64_t from, int64_t to) {
    Scratch scratch;
    const bool cached = cached_rows(!rows.same() || (phases && maximum));
    RowCache cache(scratch, cached ? static_cast<int64_t>(rows.compute_size) * prepared : 0,
                   cached ? longest_window(depth) : 1, cached ? longest_window(height) : 1);
    const void** pointers = scratch.take<const void*>(row_span);
    auto* places = scratch.take<int64_t>(row_span);
    const auto compute_row = [&](int64_t n) {
      return scratch.take<char>(static_cast<int64_t>(rows.compute_size) * (n + kSlack));
    };
    char* widened = compute_row(in_row);
    char* narrowed = compute_row(out_row);
    char* sums = compute_row(in_row);
    char* split = phases ? compute_row(columns.pitch * width.stride) : nullptr;
    int64_t image = from / rows_per_image, d = from % rows_per_image / height.out, h = from % height.out;
    const auto next = [&] {
      if (++h < height.out) return;
      h = 0;
      if (++d < depth.out) return;
      d = 0;
      ++image;
    };
    for (int64_t r = from; r < to; ++r, next()) {
      const RowWindow window = row_window(p, d, h, averaging.count_padding);
      int64_t count = 0;
      for (int64_t i = window.first[0]; i < window.last[0]; i += depth.dilation) {
        for (int64_t j = window.first[1]; j < window.last[1]; j += height.dilation) {
          const int64_t tag = (image * depth.in + i) * height.in + j;
          const void* row = rows.in_at(tag * in_row);
          if (cached) {
            row = cache.get(tag, i, j, [&](char* memory) {
              if (phases && maximum) {
                const void* plain = row;
                if (!rows.same()) {
                  rows.widen(widened, row, in_row);
                  plain = widened;
                }
                k.split(memory, columns.pitch, columns.pitch - kSlack, plain, width.in, width.stride, width.padding,
                        true);
              } else {
                rows.widen(memory, row, in_row);
              }
            });
          }
          pointers[count] = row;
          places[count++] = (i * height.in + j) * width.in;
        }
      }
      void* target = rows.same() ? rows.out_at(r * out_row) : narrowed;
      int64_t* index_row = maximum ? indices->data<int64_t>() + r * out_row : nullptr;
      const int64_t first_place = (window.first[0] * height.in + window.first[1]) * width.in;
      const double row_divisor = averaging.divisor ? static_cast<double>(*averaging.divisor) : or_one(window.divisor);
      PoolRow row{pointers,
                  places,
                  count,
                  columns.tap_offsets.data(),
                  columns.tap_places.data(),
                  width.kernel,
                  columns.skipped.data(),
                  first_place,
                  width.stride,
                  width.padding,
                  width.out,
                  target,
                  index_row};
      PoolPixels pixel_row{pointers,       places,      count,         columns.begin.data(),    columns.end.data(),
                           width.dilation, first_place, rows.channels, columns.divisors.data(), row_divisor,
                           width.out,      target,      index_row};
      if (maximum) {
        if (phases) {
          k.max_row(row);
        } else {
          k.max_pixels(pixel_row);
        }
      } else {  // down the columns first, then along the row: the same sums in both layouts
        const void* summed = one_row(count == 1) ? pointers[0] : sums;
        if (count != 1) k.sum_rows(sums, pointers, count, in_row);
        if (phases) {
          k.split(split, columns.pitch, columns.pitch - kSlack, summed, width.in, width.stride, width.padding, false);
          const void* one = split;
          row.rows = &one;
          k.average_row(row, columns.divisors.data(), row_divisor);
        } else {
          pixel_row.rows = &summed;
          pixel_row.row_count = 1;
          k.average_pixels(pixel_row);
        }
      }
      if (!rows.same()) rows.narrow(rows.out_at(r * out_row), narrowed, out_row);
    }
  });
}

// Of the 16-bit floats PyTorch adds up volumes in the dtype itself, rounding every time.
template <class T>
void average_volumes(const Pool& p, const Tensor& self, const Tensor& out) {
  const Tensor x = contiguous_tensor(self);
  const PoolAxis &a = p.axis[0], &b = p.axis[1], &e = p.axis[2];
  parallel_for(out.numel(), 64, [&](int64_t from, int64_t to) {
    for (int64_t i = from; i < to; ++i) {
      const T* volume = x.data<T>() + i / p.out_plane() * p.in_plane();
      const int64_t d = i / (b.out * e.out) % a.out, h = i / e.out % b.out, w = i % e.out;
      T sum{};
      for (int64_t j = a.first(d); j < a.last(d); ++j) {
        for (int64_t k = b.first(h); k < b.last(h); ++k) {
          for (int64_t l = e.first(w); l < e.last(w); ++l) sum = add_elements(sum, volume[(j * b.in + k) * e.in + l]);
        }
      }
      const auto divided = [](T v, int64_t n) { return narrowed<T>(to_float(v) / static_cast<float>(n)); };
      out.data<T>()[i] = divided(divided(divided(sum, a.inside(d)), b.inside(h)), e.inside(w));
    }
  });
}

void run_max(const Pool& p, const Tensor& self, const Tensor& values, const Tensor& indices, PoolTypes types,
             const char* name) {
  check_pool_dtype(self, types, name);
  run(p, self, values, &indices, {});
}

void run_average(const Pool& p, const Tensor& self, const Tensor& out, PoolTypes types, const char* name,
                 const Averaging& averaging = {}) {
  SCONCE_CHECK(!averaging.divisor || *averaging.divisor != 0, "divisor must be not zero");
  check_pool_dtype(self, types, name);
  run(p, self, out, nullptr, averaging);
}

}  // namespace

namespace any_device {

std::array<OutSpec, 2> max_pool2d_with_indices_spec(const Tensor& self, IntList kernel, IntList stride, IntList padding,
                                                    IntList dilation, bool ceil_mode) {
  return max_pooled_specs(self, window_pool(self, 2, kernel, stride, padding, dilation, ceil_mode));
}
std::array<OutSpec, 2> max_pool3d_with_indices_spec(const Tensor& self, IntList kernel, IntList stride, IntList padding,
                                                    IntList dilation, bool ceil_mode) {
  return max_pooled_specs(self, window_pool(self, 3, kernel, stride, padding, dilation, ceil_mode));
}
std::array<OutSpec, 2> adaptive_max_pool2d_spec(const Tensor& self, IntList output_size) {
  return max_pooled_specs(self, adaptive_pool(self, 2, output_size));
}
std::array<OutSpec, 2> adaptive_max_pool3d_spec(const Tensor& self, IntList output_size) {
  return max_pooled_specs(self, adaptive_pool(self, 3, output_size), PoolFormat::contiguous);
}
OutSpec avg_pool2d_spec(const Tensor& self, IntList kernel, IntList stride, IntList padding, bool ceil_mode, bool,
                        std::optional<int64_t>) {
  return pooled_spec(self, window_pool(self, 2, kernel, stride, padding, kNoDilation, ceil_mode));
}
OutSpec avg_pool3d_spec(const Tensor& self, IntList kernel, IntList stride, IntList padding, bool ceil_mode, bool,
                        std::optional<int64_t>) {
  return pooled_spec(self, window_pool(self, 3, kernel, stride, padding, kNoDilation, ceil_mode),
                     PoolFormat::contiguous);
}
OutSpec _adaptive_avg_pool2d_spec(const Tensor& self, IntList output_size) {
  return pooled_spec(self, adaptive_pool(self, 2, output_size));
}
OutSpec _adaptive_avg_pool3d_spec(const Tensor& self, IntList output_size) {
  return pooled_spec(self, adaptive_pool(self, 3, output_size), PoolFormat::contiguous);
}

}  // namespace any_device

namespace cpu {

void max_pool2d_with_indices(const Tensor& self, IntList kernel, IntList stride, IntList padding, IntList dilation,
                             bool ceil_mode, const Tensor& out0, const Tensor& out1) {
  run_max(window_pool(self, 2, kernel, stride, padding, dilation, ceil_mode), self, out0, out1, PoolTypes::numbers,
          "max_pool2d");
}
void max_pool3d_with_indices(const Tensor& self, IntList kernel, IntList stride, IntList padding, IntList dilation,
                             bool ceil_mode, const Tensor& out0, const Tensor& out1) {
  run_max(window_pool(self, 3, kernel, stride, padding, dilation, ceil_mode), self, out0, out1, PoolTypes::numbers,
          "max_pool3d");
}
void adaptive_max_pool2d(const Tensor& self, IntList output_size, const Tensor& out0, const Tensor& out1) {
  run_max(adaptive_pool(self, 2, output_size), self, out0, out1, PoolTypes::floats, "adaptive_max_pool2d");
}
void adaptive_max_pool3d(const Tensor& self, IntList output_size, const Tensor& out0, const Tensor& out1) {
  run_max(adaptive_pool(self, 3, output_size), self, out0, out1, PoolTypes::floats, "adaptive_max_pool3d_cpu");
}
void avg_pool2d(const Tensor& self, IntList kernel, IntList stride, IntList padding, bool ceil_mode,
                bool count_include_pad, std::optional<int64_t> divisor, const Tensor& out) {
  run_average(window_pool(self, 2, kernel, stride, padding, kNoDilation, ceil_mode), self, out,
              PoolTypes::floats_and_int64, "avg_pool2d", {count_include_pad, divisor});
}
void avg_pool3d(const Tensor& self, IntList kernel, IntList stride, IntList padding, bool ceil_mode,
                bool count_include_pad, std::optional<int64_t> divisor, const Tensor& out) {
  run_average(window_pool(self, 3, kernel, stride, padding, kNoDilation, ceil_mode), self, out,
              PoolTypes::full_floats_and_int64, "avg_pool3d_out_frame", {count_include_pad, divisor});
}
void _adaptive_avg_pool2d(const Tensor& self, IntList output_size, const Tensor& out) {
  run_average(adaptive_pool(self, 2, output_size), self, out, PoolTypes::floats, "adaptive_avg_pool2d");
}
void _adaptive_avg_pool3d(const Tensor& self, IntList output_size, const Tensor& out) {
  const Pool p = adaptive_pool(self, 3, output_size);
  repeated_sums(is_reduced_float(self.dtype()));
  if (self.dtype() == DType::float16) return average_volumes<Half>(p, self, out);
  if (self.dtype() == DType::bfloat16) return average_volumes<BFloat16>(p, self, out);
  run_average(p, self, out, PoolTypes::floats, "adaptive_avg_pool3d_cpu");
}

}  // namespace cpu
}  // namespace sconce
