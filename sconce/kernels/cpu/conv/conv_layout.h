// Layout conversion: images between planar memory ([channels, pixels] each) and channels innermost ([pixels, channels]
// each), by vector transposes.
#pragma once

#include "sconce/kernels/cpu/gemm/gemm.h"

namespace sconce {

// Whether the two functions below serve numbers of a dtype on this machine.
bool rearranges(DType dtype);

// `batch` images, planar_stride elements apart in planar memory, dense in the other.
void planar_to_innermost(DType dtype, int64_t batch, int64_t channels, int64_t pixels, const void* planar,
                         int64_t planar_stride, void* innermost);
void innermost_to_planar(DType dtype, int64_t batch, int64_t channels, int64_t pixels, const void* innermost,
                         void* planar, int64_t planar_stride);

// The same for some pixels of one image, on this thread. Channels of `planar` are channel_stride elements apart.
void planar_to_pixels(DType dtype, int64_t channels, int64_t pixels, const void* planar, int64_t channel_stride,
                      void* innermost);

// Some neighbouring pixels of one image, on this thread: channel c goes to planar + c * channel_stride.
void pixels_to_planar(DType dtype, int64_t channels, int64_t pixels, const void* innermost, void* planar,
                      int64_t channel_stride);

}  // namespace sconce
