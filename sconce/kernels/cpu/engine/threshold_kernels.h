// Threshold scans: skip the elements that a threshold excludes, per instruction set level.
#pragma once

#include <cstdint>

#include "sconce/kernels/cpu/engine/levels.h"

namespace sconce {

struct ThresholdKernels {
  // The first of the blocks of 64 elements from `from` on in which some element is not <= threshold (above) or not >=
  // threshold (below); NaN is neither. n when there is none. [0] float, [1] double, [2] int64.
  using Next = int64_t (*)(const void* x, int64_t from, int64_t n, const void* threshold);
  Next above[3], below[3];
};

SCONCE_AT_EACH_LEVEL(extern const ThresholdKernels threshold_kernels;)

const ThresholdKernels& threshold_kernels();

}  // namespace sconce
