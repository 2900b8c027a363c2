// Transposes for elements of a size that no selected dtype has (TileKernels::transpose): there may be such tensors,
// which are moved one element at a time.
#pragma once

#include <cstring>

#include "sconce/kernels/cpu/engine/tile.h"

namespace sconce::lite {

template <int size>
void transpose_elements(SCONCE_TRANSPOSE_ARGUMENTS) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c)
      std::memcpy(static_cast<char*>(out) + r * out_stride + c * size,
                  static_cast<const char*>(in) + c * in_stride + r * size, size);
  }
}

}  // namespace sconce::lite
