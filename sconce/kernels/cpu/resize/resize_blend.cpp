// A row at a time: rows of the input blended element by element, and columns of a row blended with each other.
#include "sconce/kernels/cpu/resize/resize_blend.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "sconce/base/parallel.h"
#include "sconce/base/variants/variants.h"
#include "sconce/kernels/cpu/engine/conversion.h"
#include "sconce/kernels/cpu/engine/cpu_level.h"
#include "sconce/kernels/cpu/engine/row_cache.h"
#include "sconce/kernels/cpu/engine/tile.h"

namespace sconce {

const ResizeKernels& resize_kernels() { return at_cpu_level(SCONCE_OF_EACH_LEVEL(resize_kernels)); }

SCONCE_VARIANT(along_first, "resize.blend.columns_first",
               "more rows in the result than in the source, or antialiasing");
SCONCE_VARIANT(whole_pixels, "resize.blend.pixels", "channels_last, with a vector of channels or more");
SCONCE_VARIANT(padded_rows, "resize.blend.padded", "rows shorter than two vectors");
SCONCE_VARIANT(converted_rows, "resize.blend.convert", "float16 or bfloat16");
SCONCE_VARIANT(near_taps, "resize.blend.near", "all taps of a vector of results within two vectors of the source");
SCONCE_VARIANT(row_blend, "resize.blend.rows",
               "a row of the result that needs more than one row of the source as it is");
SCONCE_VARIANT(empty_row, "resize.blend.none", "a row of the result without a share");

ResizeColumnArrays::ResizeColumnArrays(const ResizeTaps& taps, int64_t channels, bool flat, bool in_float,
                                       int64_t width) {
  const int64_t step = flat ? channels : 1, n = taps.out * step, pitch = n + kResizeSlack;
  const auto size = static_cast<size_t>(taps.count * pitch);
  index.resize(size);
  if (in_float) {
    floats.resize(size);
  } else {
    doubles.resize(size);
  }
  for (int64_t j = 0; j < taps.count; ++j) {
    for (int64_t i = 0; i < pitch; ++i) {
      const int64_t k = std::min(i, n - 1);  // behind the end, the last output again
      const auto from = static_cast<size_t>(j * taps.out + k / step), to = static_cast<size_t>(j * pitch + i);
      index[to] = static_cast<int32_t>(taps.index[from] * step + k % step);
      if (in_float) {
        floats[to] = static_cast<float>(taps.weight[from]);
      } else {
        doubles[to] = taps.weight[from];
      }
    }
  }
  columns = {
      n,       taps.count, pitch,  index.data(), in_float ? static_cast<const void*>(floats.data()) : doubles.data(),
      nullptr, nullptr,    nullptr};
  if (!in_float) return;
  const int64_t lanes = resize_kernels().lanes;
  relative.resize(size);
  for (int64_t i = 0; i < n; i += lanes) {
    int32_t low = std::numeric_limits<int32_t>::max(), high = 0;
    for (int64_t j = 0; j < taps.count; ++j) {
      for (int64_t k = i; k < i + lanes; ++k) {
        low = std::min(low, index[static_cast<size_t>(j * pitch + k)]);
        high = std::max(high, index[static_cast<size_t>(j * pitch + k)]);
      }
    }
    int64_t first = low, count = 0;
    for (int64_t v = 1; v <= 2 && count == 0; ++v) {
      first = std::max<int64_t>(0, std::min<int64_t>(low, width - v * lanes));
      if (high < first + v * lanes) count = v;
    }
    near_taps(count > 0);
    base.push_back(static_cast<int32_t>(first));
    vectors.push_back(static_cast<uint8_t>(count));
    for (int64_t j = 0; j < taps.count && count > 0; ++j) {
      for (int64_t k = i; k < i + lanes; ++k) {
        const auto at = static_cast<size_t>(j * pitch + k);
        relative[at] = index[at] - static_cast<int32_t>(first);
      }
    }
  }
  columns.base = base.data();
  columns.vectors = vectors.data();
  columns.relative = relative.data();
}

namespace {

struct Shape {
  bool pixels;  // channels_last
  int64_t images, channels;
  int64_t in[3] = {1, 1, 1}, out[3] = {1, 1, 1};

  Shape(const Tensor& x, const Tensor& result, int rank) : pixels(!result.is_contiguous()) {
    images = x.size(0) * (pixels ? 1 : x.size(1));
    channels = pixels ? x.size(1) : 1;
    for (int i = 0; i < rank; ++i) {
      in[3 - rank + i] = x.size(2 + i);
      out[3 - rank + i] = result.size(2 + i);
    }
  }
};

}  // namespace

void blend_images(const Tensor& x_tensor, const Tensor& result, int rank, const ResizeTaps* taps, bool columns_first) {
  const Shape m(x_tensor, result, rank);
  const DType dtype = result.dtype();
  const DType compute = dtype == DType::float64 ? DType::float64 : DType::float32;
  columns_first = along_first(columns_first || m.out[0] * m.out[1] > m.in[0] * m.in[1]);
  const bool same = dtype == compute, in_float = compute == DType::float32;
  const ResizeKernels& table = resize_kernels();
  const ResizeKernels::Of& k = table.of[in_float ? 0 : 1];
  const auto item = static_cast<int64_t>(result.item_size()), wide = static_cast<int64_t>(sconce::item_size(compute));
  const int64_t in_row = m.in[2] * m.channels, out_row = m.out[2] * m.channels;
  const bool by_pixels = whole_pixels(m.pixels && m.channels >= (in_float ? table.lanes : 2));
  converted_rows(!same);
  const int64_t readable =
      std::max<int64_t>(in_row, 2 * table.lanes);  // elements of a row, those behind its end included
  const ResizeColumnArrays columns(taps[2], m.channels, !by_pixels, in_float, readable);
  const bool padded = padded_rows(readable != in_row && !by_pixels);
  const auto widen = conversion(tile_kernels(), dtype, compute);
  const auto narrow = conversion(tile_kernels(), compute, dtype);
  const char* x = x_tensor.data<char>();
  char* y = result.data<char>();
  const int64_t depth_taps = taps[0].count, height_taps = taps[1].count, row_taps = depth_taps * height_taps;
  parallel_for(
      m.images * m.out[0] * m.out[1], grain_for(out_row * (row_taps + taps[2].count)), [&](int64_t from, int64_t to) {
        Scratch scratch;
        // Rows that were widened, or resized along.
        const bool cached = columns_first || !same;
        RowCache cache(scratch, cached ? wide * ((columns_first ? out_row : readable) + kResizeSlack) : 0, depth_taps,
                       height_taps);
        char* plain = scratch.take<char>(wide * (readable + kResizeSlack));
        char* blended = scratch.take<char>(wide * (readable + kResizeSlack));
        char* narrowed = scratch.take<char>(wide * (out_row + kResizeSlack));
        const void** rows = scratch.take<const void*>(row_taps);
        auto* weights = scratch.take<double>(row_taps);
        const auto along = [&](void* target, const void* row) {
          if (by_pixels) {
            k.blend_pixels(target, row, columns.columns, m.channels);
          } else {
            k.blend_columns(target, row, columns.columns);
          }
          for (const int32_t i : taps[2].none) {
            std::memset(static_cast<char*>(target) + i * m.channels * wide, 0, static_cast<size_t>(m.channels * wide));
          }
        };
        for (int64_t r = from; r < to; ++r) {
          const int64_t image = r / (m.out[0] * m.out[1]), d = r / m.out[1] % m.out[0], h = r % m.out[1];
          int64_t count = 0;
          for (int64_t a = 0; a < depth_taps; ++a) {
            for (int64_t b = 0; b < height_taps; ++b) {
              const auto at_depth = static_cast<size_t>(a * m.out[0] + d),
                         at_height = static_cast<size_t>(b * m.out[1] + h);
              const int64_t i = taps[0].index[at_depth], j = taps[1].index[at_height];
              const int64_t tag = (image * m.in[0] + i) * m.in[1] + j;
              const void* row = x + tag * in_row * item;
              if (cached) {
                row = cache.get(tag, i, j, [&](char* memory) {
                  if (!columns_first) return widen(memory, row, in_row);
                  const void* source = row;
                  if (!same) {
                    widen(plain, row, in_row);
                    source = plain;
                  } else if (padded) {
                    std::memcpy(plain, row, static_cast<size_t>(in_row * wide));
                    source = plain;
                  }
                  along(memory, source);
                });
              }
              rows[count] = row;
              weights[count++] = taps[0].weight[at_depth] * taps[1].weight[at_height];
            }
          }
          char* target = same ? y + r * out_row * item : narrowed;
          if (empty_row(
                  std::all_of(weights, weights + count, [](double w) { return w == 0; }))) {  // nothing comes here
            std::memset(y + r * out_row * item, 0, static_cast<size_t>(out_row * item));
            continue;
          }
          if (columns_first) {
            k.blend_rows(target, rows, weights, count, out_row);
          } else {
            const void* row = rows[0];
            if (row_blend(count > 1 || weights[0] != 1)) {
              k.blend_rows(blended, rows, weights, count, in_row);
              row = blended;
            } else if (padded && same) {
              std::memcpy(plain, row, static_cast<size_t>(in_row * wide));
              row = plain;
            }
            along(target, row);
          }
          if (!same) narrow(y + r * out_row * item, narrowed, out_row);
        }
      });
}

}  // namespace sconce
