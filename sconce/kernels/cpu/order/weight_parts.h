// Weighted counts: how bincount and histograms share out sums of weights.
#pragma once

#include <cstdint>

namespace sconce {

// Sums of floats depend on where they are cut, so the number of parts may not be that of threads: results would have
// other bits. Four use the cores of most machines and cost little memory.
inline constexpr int64_t kWeightParts = 4;

}  // namespace sconce
