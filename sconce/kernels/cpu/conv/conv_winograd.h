// Winograd convolution for 3 x 3 kernels with stride and dilation 1: a tile of m x m outputs costs (m + 2)^2 products
// for every pair of channels instead of 9 m^2, so 2.25 times fewer for m = 2 and 4 times fewer for m = 4. A NaN or an
// infinity spreads over the tile that sees it. Transposed convolutions are convolutions with the kernel turned around.
#pragma once

#include "sconce/kernels/cpu/conv/conv.h"

namespace sconce {

// Whether winograd_run knows the shape: float32, channels in whole vectors.
bool winograd_serves(const ConvShape& shape, DType dtype, const MatrixKernels& kernels);

// A shape that winograd_serves, as a convolution that is not transposed: with stride 1 that is one by the kernel turned
// around, which is how winograd_pack packs it. Its results can be cut into rows by `padding` and `out`.
ConvShape winograd_plain_shape(const ConvShape& shape);

size_t winograd_packed_bytes(const ConvShape& shape, int m, const MatrixKernels& kernels);
void winograd_pack(const ConvShape& shape, int m, const float* weight, const int64_t* strides, float* packed,
                   const MatrixKernels& kernels);
// As conv_run; sums are formed in sequence, so a part of the image that begins with a whole tile has the bits that it
// has in the whole image. Whether all results are finite, but for an overflow of the epilogue: if not, the input may
// have had an infinity or a NaN, which is in more results now than in the convolution's.
bool winograd_run(const ConvShape& shape, int m, const float* x, const float* packed, float* y,
                  const Epilogue& epilogue, const MatrixKernels& kernels);

}  // namespace sconce
