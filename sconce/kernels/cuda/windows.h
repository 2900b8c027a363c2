// Windows of pictures: what convolutions and pools share (text/windows.cuh).
#pragma once

#include "sconce/tensor/tensor.h"

namespace sconce::cuda {

enum class WindowKernel : uint8_t {
  to_columns,
  from_columns,
  max_pool,
  max_pool_backward,
  average_pool,
  average_pool_backward,
  adaptive_pool,
  adaptive_pool_backward
};

// Up to three dimensions of pictures; lists that are shorter are filled from the front with what changes nothing.
struct WindowShape {
  int64_t size[3] = {1, 1, 1}, out_size[3] = {1, 1, 1}, kernel[3] = {1, 1, 1}, stride[3] = {1, 1, 1},
          pad[3] = {0, 0, 0}, dilation[3] = {1, 1, 1};
  int64_t divisor = 0;
  bool count_padding = false;

  int64_t pixels() const { return size[0] * size[1] * size[2]; }
  int64_t places() const { return out_size[0] * out_size[1] * out_size[2]; }
  int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }  // fits: of a weight
};
// Writes a list of `rank` numbers, or one for all, into the last places of three.
void put_last(int64_t (&to)[3], IntList list, size_t rank);

// All dense. `channels`: pictures, which are batch times channels. `index` is of pools with places (int64).
void launch_windows(WindowKernel kernel, const char* name, const WindowShape& shape, int64_t channels, const Tensor& in,
                    const Tensor& out, const Tensor* index = nullptr);

}  // namespace sconce::cuda
