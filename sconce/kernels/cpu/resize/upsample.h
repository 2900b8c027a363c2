// Upsampling: the checks that resizing and its gradient share.
#pragma once

#include <optional>

#include "sconce/dispatch/glue.h"
#include "sconce/kernels/cpu/resize/resize_taps.h"

namespace sconce {

using ResizeScale = std::optional<double>;

// The result of resizing `rank` spatial dimensions; throws Error with PyTorch's reason when sizes do not fit.
OutSpec resized_spec(const Tensor& self, int rank, IntList output_size);

}  // namespace sconce
