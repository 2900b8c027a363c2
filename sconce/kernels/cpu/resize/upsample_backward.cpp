// Gradients of resizing: every output element hands its gradient to its taps.
#include <vector>

#include "sconce/base/error.h"
#include "sconce/generated/resizing_kernels.h"
#include "sconce/kernels/cpu/resize/resize_blend.h"
#include "sconce/kernels/cpu/resize/upsample.h"

namespace sconce {
namespace {

OutSpec backward_spec(const Tensor& grad_output, int rank, IntList output_size, IntList input_size, bool follow) {
  SCONCE_CHECK(output_size.size() == static_cast<size_t>(rank),
               "It is expected output_size equals to {}, but got size {}", rank, output_size.size());
  SCONCE_CHECK(input_size.size() == static_cast<size_t>(rank + 2),
               "It is expected input_size equals to {}, but got size {}", rank + 2, input_size.size());
  SCONCE_CHECK(grad_output.dim() == rank + 2,
               "Expected grad_output to be a tensor of dimension {} but got: dimension {}", rank + 2,
               grad_output.dim());
  for (size_t i = 0; i < static_cast<size_t>(rank); ++i) {
    SCONCE_CHECK(input_size[2 + i] > 0 && output_size[i] > 0,
                 "Input and output sizes should be greater than 0, but got input {} output {}", input_size,
                 output_size);
  }
  for (size_t i = 0; i < static_cast<size_t>(rank) + 2; ++i) {
    const int64_t expected = i < 2 ? input_size[i] : output_size[i - 2];
    SCONCE_CHECK(
        grad_output.sizes()[i] == expected,
        "Expected grad_output to have the same shape as output; output.size({}) = {} but got grad_output.size({}) = {}",
        i, expected, i, grad_output.sizes()[i]);
  }
  return {Dims(input_size), grad_output.dtype(), follow ? suggested_format(grad_output) : MemoryFormat::contiguous};
}

// The taps of dimension i of a tensor that was resized from input_size, turned around.
ResizeTaps backward_taps(const Tensor& grad_output, const Tensor& grad_input, int i, ResizeMode mode,
                         bool align_corners, ResizeScale scale) {
  const int64_t in = grad_input.size(2 + i), out = grad_output.size(2 + i);
  const bool nearest = mode == ResizeMode::nearest || mode == ResizeMode::nearest_exact;
  if (mode == ResizeMode::nearest) {
    if (const auto steps = whole_steps(in, out)) return transposed(*steps, in);
  }
  // Nearest neighbours are always found in float.
  return transposed(grad_output.dtype() == DType::float64 && !nearest
                        ? resize_taps<double>(mode, in, out, align_corners, scale)
                        : resize_taps<float>(mode, in, out, align_corners, scale),
                    in);
}

void run(const Tensor& grad_output, const Tensor& out, int rank, ResizeMode mode, bool align_corners,
         std::initializer_list<ResizeScale> scales, const char* name) {
  const DType t = grad_output.dtype();
  const bool antialias = is_antialias(mode);
  SCONCE_CHECK_AS(not_implemented, antialias ? t == DType::float32 || t == DType::float64 : is_floating(t),
                  "\"{}\" not implemented for '{}'", name, dtype_legacy_name(t));
  if (out.numel() == 0) return;
  if (mode == ResizeMode::cubic && grad_output.sizes() == out.sizes()) return copy_tensor(out, grad_output);
  const MemoryFormat format = out.is_contiguous() ? MemoryFormat::contiguous
                              : rank == 2         ? MemoryFormat::channels_last
                                                  : MemoryFormat::channels_last_3d;
  ResizeTaps taps[3] = {identity_taps(1), identity_taps(1), identity_taps(1)};
  for (int i = 0; i < rank; ++i) {
    taps[3 - rank + i] = backward_taps(grad_output, out, i, mode, align_corners, scales.begin()[i]);
  }
  blend_images(contiguous_tensor(grad_output, format), out, rank, taps);
}

}  // namespace

#define SCONCE_NEAREST_BACKWARD(name, rank, mode, follow, PARAMETERS, SCALES)                           \
  namespace any_device {                                                                                \
  OutSpec name##_spec(const Tensor& grad_output, IntList output_size, IntList input_size, PARAMETERS) { \
    (void)std::initializer_list<ResizeScale> SCALES;                                                    \
    return backward_spec(grad_output, rank, output_size, input_size, follow);                           \
  }                                                                                                     \
  }                                                                                                     \
  namespace cpu {                                                                                       \
  void name(const Tensor& grad_output, IntList, IntList, PARAMETERS, const Tensor& out) {               \
    run(grad_output, out, rank, mode, false, SCALES, #name);                                            \
  }                                                                                                     \
  }
#define SCONCE_LINEAR_BACKWARD(name, rank, mode, follow, error, PARAMETERS, SCALES)                           \
  namespace any_device {                                                                                      \
  OutSpec name##_spec(const Tensor& grad_output, IntList output_size, IntList input_size, bool, PARAMETERS) { \
    (void)std::initializer_list<ResizeScale> SCALES;                                                          \
    return backward_spec(grad_output, rank, output_size, input_size, follow);                                 \
  }                                                                                                           \
  }                                                                                                           \
  namespace cpu {                                                                                             \
  void name(const Tensor& grad_output, IntList, IntList, bool align_corners, PARAMETERS, const Tensor& out) { \
    run(grad_output, out, rank, mode, align_corners, SCALES, error);                                          \
  }                                                                                                           \
  }
#define SCONCE_ONE ResizeScale w
#define SCONCE_TWO ResizeScale h, ResizeScale w
#define SCONCE_THREE ResizeScale d, ResizeScale h, ResizeScale w
#define SCONCE_GIVEN(...) {__VA_ARGS__}
SCONCE_NEAREST_BACKWARD(upsample_nearest1d_backward, 1, ResizeMode::nearest, true, SCONCE_ONE, SCONCE_GIVEN(w))
SCONCE_NEAREST_BACKWARD(upsample_nearest2d_backward, 2, ResizeMode::nearest, true, SCONCE_TWO, SCONCE_GIVEN(h, w))
SCONCE_NEAREST_BACKWARD(upsample_nearest3d_backward, 3, ResizeMode::nearest, false, SCONCE_THREE, SCONCE_GIVEN(d, h, w))
SCONCE_NEAREST_BACKWARD(_upsample_nearest_exact1d_backward, 1, ResizeMode::nearest_exact, true, SCONCE_ONE,
                        SCONCE_GIVEN(w))
SCONCE_NEAREST_BACKWARD(_upsample_nearest_exact2d_backward, 2, ResizeMode::nearest_exact, true, SCONCE_TWO,
                        SCONCE_GIVEN(h, w))
SCONCE_NEAREST_BACKWARD(_upsample_nearest_exact3d_backward, 3, ResizeMode::nearest_exact, false, SCONCE_THREE,
                        SCONCE_GIVEN(d, h, w))
SCONCE_LINEAR_BACKWARD(upsample_linear1d_backward, 1, ResizeMode::linear, true, "upsample_linear1d_backward",
                       SCONCE_ONE, SCONCE_GIVEN(w))
SCONCE_LINEAR_BACKWARD(upsample_bilinear2d_backward, 2, ResizeMode::linear, true, "upsample_bilinear2d_backward",
                       SCONCE_TWO, SCONCE_GIVEN(h, w))
SCONCE_LINEAR_BACKWARD(upsample_trilinear3d_backward, 3, ResizeMode::linear, true, "upsample_trilinear3d_backward",
                       SCONCE_THREE, SCONCE_GIVEN(d, h, w))
SCONCE_LINEAR_BACKWARD(upsample_bicubic2d_backward, 2, ResizeMode::cubic, false, "upsample_bicubic2d_backward",
                       SCONCE_TWO, SCONCE_GIVEN(h, w))
SCONCE_LINEAR_BACKWARD(_upsample_bilinear2d_aa_backward, 2, ResizeMode::linear_antialias, true,
                       "upsample_bilinear2d_aa_backward_cpu", SCONCE_TWO, SCONCE_GIVEN(h, w))
SCONCE_LINEAR_BACKWARD(_upsample_bicubic2d_aa_backward, 2, ResizeMode::cubic_antialias, false,
                       "upsample_bicubic2d_aa_backward_cpu", SCONCE_TWO, SCONCE_GIVEN(h, w))
SCONCE_LINEAR_BACKWARD(_upsample_lanczos2d_aa_backward, 2, ResizeMode::lanczos_antialias, false,
                       "upsample_lanczos2d_aa_backward_cpu", SCONCE_TWO, SCONCE_GIVEN(h, w))

}  // namespace sconce
