// Sampling at the places of a grid on CUDA devices: as the operators that it decomposes into.
#include "sconce/generated/grid_sampling_cuda_kernels.h"
#include "sconce/ops.h"

namespace sconce::cuda {

void grid_sampler_2d(const Tensor& input, const Tensor& grid, int64_t interpolation_mode, int64_t padding_mode,
                     bool align_corners, const Tensor& out) {
  sconce::copy_(out,
                sconce::_grid_sampler_2d_cpu_fallback(input, grid, interpolation_mode, padding_mode, align_corners));
}

}  // namespace sconce::cuda
