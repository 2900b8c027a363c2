// Dtype conversion of dense blocks: the function that turns elements of one dtype into another.
#pragma once

#include "sconce/kernels/cpu/engine/tile.h"
#include "sconce/tensor/dtype.h"

namespace sconce {

// Conversions from or to limited dtypes, which the tables of TileKernels do not have: by way of a dtype that they have.
// uint64 becomes a float without a detour, so that it is rounded once; floats become unsigned integers as the processor
// converts to signed ones, -1.0 to the largest.
TileKernels::Convert limited_conversion(DType from, DType to);

// Throws Error of kind not_implemented: a small library was built without this dtype.
[[noreturn]] void fail_without_conversion(DType missing);

inline TileKernels::Convert conversion(const TileKernels& tiles, DType from, DType to) {
  if (is_limited(from) || is_limited(to)) [[unlikely]]
    return limited_conversion(from, to);
  const ConversionTable& table = *tiles.conversions;
  const int row = table.place[static_cast<int>(from)], column = table.place[static_cast<int>(to)];
  if ((row | column) == ConversionTable::kNone) [[unlikely]]
    fail_without_conversion(row == ConversionTable::kNone ? from : to);
  return table.between[row * table.kinds + column];
}

}  // namespace sconce
