// Scans: cumulative sums and their kind along the last dimension of dense tensors (text/scan.cuh).
#pragma once

#include "sconce/tensor/tensor.h"

namespace sconce::cuda {

enum class ScanKind : uint8_t { sum, product, logsum, largest, smallest };

// out[..., i] from in[..., 0..i]: `rows` lines of `count` elements. `index`: where the largest or smallest stands
// (int64).
void launch_scan(ScanKind kind, const char* name, const Tensor& in, const Tensor& out, const Tensor* index,
                 int64_t rows, int64_t count);

}  // namespace sconce::cuda
