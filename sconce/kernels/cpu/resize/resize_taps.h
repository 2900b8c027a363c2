// Resampling filters: every output element along a dimension is a weighted sum of few input elements, its taps. 1 for
// nearest, 2 for linear, 4 for cubic; with anti-aliasing as many as a step of the output covers.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "sconce/base/export.h"

namespace sconce {

enum class ResizeMode { nearest, nearest_exact, linear, cubic, linear_antialias, cubic_antialias, lanczos_antialias };
inline bool is_antialias(ResizeMode mode) { return mode >= ResizeMode::linear_antialias; }

struct ResizeTaps {
  int64_t count = 1;           // taps per output element, the same for all
  int64_t out = 1;             // output elements
  std::vector<int32_t> index;  // tap j of output i at [j * out + i]; clamped to the input
  std::vector<double> weight;  // the same; 0 where an output has fewer taps
  std::vector<int32_t> none;   // outputs without taps, where the sum is 0 whatever the input is
};

// Taps of each output, as pairs of input element and weight.
using TapLists = std::vector<std::vector<std::pair<int32_t, double>>>;
ResizeTaps taps_of(const TapLists& lists);
// The gradient's taps, the transpose: for each of `in` input elements the outputs that `taps` uses it in.
ResizeTaps transposed(const ResizeTaps& taps, int64_t in);

// T is the type that positions and weights are computed in (float or double), as PyTorch does. `scale` is the factor
// that the user gave, if any.
template <class T>
SCONCE_API ResizeTaps resize_taps(ResizeMode mode, int64_t in, int64_t out, bool align_corners,
                                  std::optional<double> scale);

// A dimension of n elements that is not resized.
ResizeTaps identity_taps(int64_t n);
// Nearest neighbours for the sizes at which PyTorch ignores the scale: the same, and twice the size.
std::optional<ResizeTaps> whole_steps(int64_t in, int64_t out);

}  // namespace sconce
