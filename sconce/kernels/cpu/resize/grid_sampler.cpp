// grid_sampler on tensors: checks, and the gradients that are asked for. grid_sampling.cpp computes.
#include "sconce/kernels/cpu/resize/grid_sampling.h"

#include <tuple>

#include "sconce/base/error.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/grid_sampling_kernels.h"

namespace sconce {
namespace {

using Two = std::tuple<Tensor, Tensor>;

OutSpec sampled_spec(const Tensor& input, const Tensor& grid, int rank, int64_t mode, int64_t padding,
                     bool align_corners) {
  grid_sampling(input, grid, rank, mode, padding, align_corners);
  OutSpec spec{Dims(input.sizes()), input.dtype()};
  for (int d = 0; d < rank; ++d) spec.sizes[static_cast<size_t>(d) + 2] = grid.size(1 + d);
  return spec;
}

Two backward(const Tensor& grad_output, const Tensor& input, const Tensor& grid, int rank, int64_t mode,
             int64_t padding, bool align_corners, bool fallback, bool for_input, bool for_grid) {
  const OutSpec expected = sampled_spec(input, grid, rank, mode, padding, align_corners);
  SCONCE_CHECK(grad_output.sizes() == IntList(expected.sizes),
               "grid_sampler backward: expected grad_output of shape {}, got {}", IntList(expected.sizes),
               grad_output.sizes());
  SCONCE_CHECK(grad_output.dtype() == input.dtype(), "expected scalar type {} but found {}",
               dtype_legacy_name(input.dtype()), dtype_legacy_name(grad_output.dtype()));
  GridSampling how = grid_sampling(input, grid, rank, mode, padding, align_corners);
  how.vector_rules = how.vector_rules && !fallback;
  Tensor grad_input, grad_grid;
  if (for_input) grad_input = empty_tensor(input.sizes(), input.dtype(), input.device());
  if (for_grid) grad_grid = empty_tensor(grid.sizes(), grid.dtype(), grid.device());
  if (!input.is_meta()) sample_grid_backward(grad_output, input, grid, how, grad_input, grad_grid);
  return {grad_input, grad_grid};
}

void check_mask(ListRef<bool> output_mask) {
  SCONCE_CHECK(output_mask.size() == 2, "output_mask has {} entries, expected 2", output_mask.size());
}
void check_float(const Tensor& t) {
  SCONCE_CHECK(t.dtype() == DType::float32, "expected scalar type Float but found {}", dtype_legacy_name(t.dtype()));
}

}  // namespace

namespace any_device {

OutSpec grid_sampler_2d_spec(const Tensor& input, const Tensor& grid, int64_t mode, int64_t padding,
                             bool align_corners) {
  return sampled_spec(input, grid, 2, mode, padding, align_corners);
}
OutSpec grid_sampler_3d_spec(const Tensor& input, const Tensor& grid, int64_t mode, int64_t padding,
                             bool align_corners) {
  return sampled_spec(input, grid, 3, mode, padding, align_corners);
}
OutSpec _grid_sampler_2d_cpu_fallback_spec(const Tensor& input, const Tensor& grid, int64_t mode, int64_t padding,
                                           bool align_corners) {
  check_float(input);
  return sampled_spec(input, grid, 2, mode, padding, align_corners);
}

}  // namespace any_device

namespace cpu {

Two grid_sampler_2d_backward(const Tensor& grad_output, const Tensor& input, const Tensor& grid, int64_t mode,
                             int64_t padding, bool align_corners, ListRef<bool> output_mask) {
  check_mask(output_mask);
  return backward(grad_output, input, grid, 2, mode, padding, align_corners, false, output_mask[0], output_mask[1]);
}
Two grid_sampler_3d_backward(const Tensor& grad_output, const Tensor& input, const Tensor& grid, int64_t mode,
                             int64_t padding, bool align_corners, ListRef<bool> output_mask) {
  check_mask(output_mask);
  return backward(grad_output, input, grid, 3, mode, padding, align_corners, false, output_mask[0], output_mask[1]);
}
Two _grid_sampler_2d_cpu_fallback_backward(const Tensor& grad_output, const Tensor& input, const Tensor& grid,
                                           int64_t mode, int64_t padding, bool align_corners) {
  check_float(input);
  return backward(grad_output, input, grid, 2, mode, padding, align_corners, true, true, true);
}

std::tuple<Tensor, Tensor, Tensor> sconce_grid_sampler_double_backward(const Tensor& for_input, const Tensor& for_grid,
                                                                       const Tensor& grad_output, const Tensor& input,
                                                                       const Tensor& grid, int64_t mode,
                                                                       int64_t padding, bool align_corners) {
  const int rank = static_cast<int>(input.dim()) - 2;
  const OutSpec expected = sampled_spec(input, grid, rank, mode, padding, align_corners);
  SCONCE_CHECK(grad_output.sizes() == IntList(expected.sizes) &&
                   (!for_input.defined() || for_input.sizes() == input.sizes()) &&
                   (!for_grid.defined() || for_grid.sizes() == grid.sizes()),
               "grid_sampler double backward: gradients do not have the shapes of what they are for");
  const auto like = [](const Tensor& t) { return empty_tensor(t.sizes(), t.dtype(), t.device()); };
  const Tensor by_output = like(grad_output), by_input = like(input), by_grid = like(grid);
  if (!input.is_meta()) {
    sample_grid_double_backward(for_input, for_grid, grad_output, input, grid,
                                grid_sampling(input, grid, rank, mode, padding, align_corners), by_output, by_input,
                                by_grid);
  }
  return {by_output, by_input, by_grid};
}

void grid_sampler_2d(const Tensor& input, const Tensor& grid, int64_t mode, int64_t padding, bool align_corners,
                     const Tensor& out) {
  sample_grid(input, grid, grid_sampling(input, grid, 2, mode, padding, align_corners), out);
}
void grid_sampler_3d(const Tensor& input, const Tensor& grid, int64_t mode, int64_t padding, bool align_corners,
                     const Tensor& out) {
  sample_grid(input, grid, grid_sampling(input, grid, 3, mode, padding, align_corners), out);
}
void _grid_sampler_2d_cpu_fallback(const Tensor& input, const Tensor& grid, int64_t mode, int64_t padding,
                                   bool align_corners, const Tensor& out) {
  GridSampling how = grid_sampling(input, grid, 2, mode, padding, align_corners);
  how.vector_rules = false;
  sample_grid(input, grid, how, out);
}

}  // namespace cpu
}  // namespace sconce
