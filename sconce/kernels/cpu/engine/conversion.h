// Dtype conversion of dense blocks: the function that turns elements of one dtype into another.
#pragma once

#include "sconce/kernels/cpu/engine/tile.h"
#include "sconce/tensor/dtype.h"

namespace sconce {

// Conversions from or to limited dtypes, which the tables of TileKernels do not have: by way of a dtype that they have.
// uint64 becomes a float without a detour, so that it is rounded once; floats become unsigned integers as the processor
// converts to signed ones, -1.0 to the largest.
TileKernels::Convert limited_conversion(DType from, DType to);

inline TileKernels::Convert conversion(const TileKernels& tiles, DType from, DType to) {
  if (is_limited(from) || is_limited(to)) [[unlikely]]
    return limited_conversion(from, to);
  return tiles.conversions->between[static_cast<int>(from)][static_cast<int>(to)];
}

}  // namespace sconce
