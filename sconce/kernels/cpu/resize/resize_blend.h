// Separable resampling: resizing by weighted sums, given the taps of each dimension; operators and their
// gradients share it.
#pragma once

#include <vector>

#include "sconce/kernels/cpu/resize/resize_kernels.h"
#include "sconce/kernels/cpu/resize/resize_taps.h"
#include "sconce/tensor/tensor.h"

namespace sconce {

inline constexpr int64_t kResizeSlack = 64;  // elements that a vector may reach past a row

// The arrays behind ResizeColumns. With `flat`, outputs are the channels of pixels.
struct ResizeColumnArrays {
  std::vector<int32_t> index, base, relative;
  std::vector<uint8_t> vectors;
  std::vector<float> floats;
  std::vector<double> doubles;
  ResizeColumns columns;

  // `width` is how many elements of a row may be read.
  ResizeColumnArrays(const ResizeTaps& taps, int64_t channels, bool flat, bool in_float, int64_t width);
};

// result = x resized, in float or double. Both have one layout, contiguous or else channels_last, and `rank` spatial
// dimensions after two others; taps[3 - rank ...] are theirs. Rows are blended first if the image shrinks; if it grows,
// or with `columns_first`, columns are, because the rows made so serve several output rows.
void blend_images(const Tensor& x, const Tensor& result, int rank, const ResizeTaps* taps, bool columns_first = false);

}  // namespace sconce
