// Answers about CUDA devices (tensor/libraries/backend_library.h).
#pragma once

#include "sconce/tensor/libraries/backend_library.h"

namespace sconce::cuda {

extern const DeviceQueries cuda_queries;

}  // namespace sconce::cuda
