// Driver of operators along one dim that keep the shape: softmax, cumulative sums, and their like. A kernel sees rows
// or blocks of columns in its compute type; the driver converts, cuts into pieces, and spreads them over threads.
#pragma once

#include <span>

#include "sconce/tensor/tensor.h"

namespace sconce::cpu {

struct AlongDim {
  // `rows` rows of n adjacent elements, one after the other; out may be in[0].
  void (*rows)(void* out, const void* const* in, int64_t rows, int64_t n);
  // `width` columns of n elements: element k of a column stands k * pitch elements behind its first. width is a
  // multiple of 64 bytes; out may be in[0] if their pitches are the same.
  void (*columns)(void* out, const void* const* in, int64_t n, int64_t width, int64_t out_pitch, int64_t in_pitch);
};

// out = kernel(in...) along `dim`. Inputs have the sizes of `out`, which is contiguous; at most 3. `compute` is the
// dtype of the kernel's elements.
void along_dim(const AlongDim& kernel, DType compute, std::span<const Tensor* const> in, int64_t dim,
               const Tensor& out);

}  // namespace sconce::cpu
