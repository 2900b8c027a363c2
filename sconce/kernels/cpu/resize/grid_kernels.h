// Bilinear interpolation: sampling of float images at a grid, per instruction set level.
#pragma once

#include <cstdint>

#include "sconce/kernels/cpu/engine/levels.h"

namespace sconce {

// n neighbouring outputs of one image.
struct GridRow {
  const float* in;    // planes
  const float* grid;  // x and y of output 0, then of output 1, ...
  float* out;         // of channel 0
  int64_t n, channels, in_plane, out_plane;
  int64_t height, width;  // width is 2 or more
  int padding;            // 0 zeros, 1 border, 2 reflection
  bool align_corners;
};

struct GridKernels {
  void (*bilinear)(const GridRow& row);
};

SCONCE_AT_EACH_LEVEL(extern const GridKernels grid_kernels;)

// The table for this machine (cpu_level).
const GridKernels& grid_kernels();

}  // namespace sconce
