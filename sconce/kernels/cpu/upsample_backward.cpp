// Gradients of resizing: every output element hands its gradient to its taps.
#include <vector>

#include "sconce/base/error.h"
#include "sconce/kernels/cpu/image_blocks.h"
#include "sconce/kernels/cpu/upsample.h"

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
  for (size_t i = 0; i < static_cast<size_t>(rank + 2); ++i) {
    const int64_t expected = i < 2 ? input_size[i] : output_size[i - 2];
    SCONCE_CHECK(
        grad_output.sizes()[i] == expected,
        "Expected grad_output to have the same shape as output; output.size({}) = {} but got grad_output.size({}) = {}",
        i, expected, i, grad_output.sizes()[i]);
  }
  return {Dims(input_size), grad_output.dtype(), follow ? suggested_format(grad_output) : MemoryFormat::contiguous};
}

template <class T>
void scatter(const Tensor& grad_output, const Tensor& grad_input, const ImageBlocks& images, int rank, ResizeMode mode,
             bool align_corners, const ResizeScale* scales) {
  ResizeTaps taps[3] = {identity_taps(1), identity_taps(1), identity_taps(1)};
  int64_t in[3] = {1, 1, 1}, out[3] = {1, 1, 1};
  for (int i = 0; i < rank; ++i) {
    const int d = 3 - rank + i;
    in[d] = grad_input.size(2 + i);
    out[d] = grad_output.size(2 + i);
    const bool nearest = mode == ResizeMode::nearest || mode == ResizeMode::nearest_exact;  // always found in float
    taps[d] = nearest ? resize_taps<float>(mode, in[d], out[d], align_corners, scales[i])
                      : resize_taps<T>(mode, in[d], out[d], align_corners, scales[i]);
    const auto steps = whole_steps(in[d], out[d]);
    if (mode == ResizeMode::nearest && steps) taps[d] = *steps;
  }
  const int64_t in_plane = in[0] * in[1] * in[2], out_plane = out[0] * out[1] * out[2];
  images.for_each(in_plane + out_plane, [&](int64_t image, int64_t c0, int64_t c1) {
    const int64_t channels = images.channels, width = c1 - c0;
    const T* g = grad_output.data<T>() + image * out_plane * channels + c0;
    T* y = grad_input.data<T>() + image * in_plane * channels + c0;
    for (int64_t i = 0; i < in_plane; ++i) std::fill_n(y + i * channels, width, T(0));
    std::vector<T> row(static_cast<size_t>(in[2] * width));  // the gradient of one blended row
    for (int64_t r = 0; r < out[0] * out[1]; ++r) {
      const int64_t d = r / out[1], h = r % out[1];
      std::fill(row.begin(), row.end(), T(0));
      for (int64_t j = 0; j < taps[2].count; ++j) {
        for (int64_t w = 0; w < out[2]; ++w) {
          const auto at = static_cast<size_t>(j * out[2] + w);
          const T weight = static_cast<T>(taps[2].weight[at]);
          T* to = row.data() + taps[2].index[at] * width;
          const T* from = g + (r * out[2] + w) * channels;
          for (int64_t c = 0; c < width; ++c) to[c] += weight * from[c];
        }
      }
      for (int64_t a = 0; a < taps[0].count; ++a) {
        for (int64_t b = 0; b < taps[1].count; ++b) {
          const auto at_depth = static_cast<size_t>(a * out[0] + d), at_height = static_cast<size_t>(b * out[1] + h);
          const T weight = static_cast<T>(taps[0].weight[at_depth] * taps[1].weight[at_height]);
          T* to = y + (taps[0].index[at_depth] * in[1] + taps[1].index[at_height]) * in[2] * channels;
          for (int64_t w = 0; w < in[2]; ++w) {
            for (int64_t c = 0; c < width; ++c)
              to[w * channels + c] += weight * row[static_cast<size_t>(w * width + c)];
          }
        }
      }
    }
  });
}

void run(const Tensor& grad_output, const Tensor& out, int rank, ResizeMode mode, bool align_corners,
         std::initializer_list<ResizeScale> scales, const char* name) {
  const DType t = grad_output.dtype();
  const bool antialias = mode == ResizeMode::linear_antialias || mode == ResizeMode::cubic_antialias;
  SCONCE_CHECK_AS(not_implemented, antialias ? t == DType::float32 || t == DType::float64 : is_floating(t),
                  "\"{}\" not implemented for '{}'", name, dtype_legacy_name(t));
  if (out.numel() == 0) return;
  if (mode == ResizeMode::cubic && grad_output.sizes() == out.sizes()) return copy_tensor(out, grad_output);
  const ImageBlocks images(out, rank);
  const Tensor g = contiguous_tensor(grad_output, images.format(out));
  if (t == DType::float64) return scatter<double>(g, out, images, rank, mode, align_corners, scales.begin());
  if (t == DType::float32) return scatter<float>(g, out, images, rank, mode, align_corners, scales.begin());
  const Tensor wide = empty_strided_tensor(out.sizes(), out.strides(), DType::float32);
  scatter<float>(to_dtype(g, DType::float32), wide, images, rank, mode, align_corners, scales.begin());
  copy_tensor(out, wide);
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

}  // namespace sconce
