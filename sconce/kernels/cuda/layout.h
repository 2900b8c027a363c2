// Layout: the dimensions of an iteration as kernels walk them, sorted and merged.
#pragma once

#include <cstdint>
#include <span>

#include "sconce/tensor/backend.h"

namespace sconce::cuda {

inline constexpr int kMaxRank = 64;
inline constexpr int kMaxOperands = 12;

// Dimension 0 is the innermost. Strides are in elements, those of operand k in stride[k].
struct Layout {
  int rank = 0;
  int operands = 0;
  int64_t size[kMaxRank];
  int64_t stride[kMaxOperands][kMaxRank];

  int64_t elements() const {
    int64_t n = 1;
    for (int d = 0; d < rank; ++d) n *= size[d];  // fits: elements of a tensor
    return n;
  }
};

// Sorted by the strides of operand 0 (then 1, ...), dimensions of size 1 left out, neighbours that are one line for all
// operands merged. There is always one dimension.
Layout layout_of(std::span<const int64_t> sizes, const Operand* const* operands, int count);
// Without sorting: dimension 0 is the last of `sizes`.
Layout layout_in_order(std::span<const int64_t> sizes, const Operand* const* operands, int count);

// Whether operand k has an element of its own for each element; others are read again and again, from a cache.
bool is_streamed(const Layout& l, int k);

// How many packs a thread reads before it writes the first, of which `bytes` each are streamed, for `wanted` bytes on
// their way; more than two are slower again.
int packs_at_once(int64_t bytes, int64_t wanted);

// n / size = (mulhi(n, magic) + n) >> shift, for n below 2^31.
struct Division {
  uint32_t magic, shift;
};
Division division_by(uint32_t size);

}  // namespace sconce::cuda
