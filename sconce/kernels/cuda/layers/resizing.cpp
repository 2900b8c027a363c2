// Pictures resized on CUDA devices: to the nearest pixel, or linearly, with their gradients (text/resize.cuh).
#include <fmt/format.h>

#include "sconce/base/error.h"
#include "sconce/generated/resizing_cuda_kernels.h"
#include "sconce/kernels/cuda/device/launch.h"
#include "sconce/kernels/cuda/row_kernels.h"
#include "sconce/kernels/cuda/shared_types.h"
#include "sconce/kernels/cuda/texts.h"
#include "sconce/ops.h"

namespace sconce::cuda {
namespace {

#include "sconce/kernels/cuda/text/resize_arguments.cuh"

enum class Kind : uint8_t { nearest, exact, linear };
using Scales = std::initializer_list<std::optional<double>>;

struct Variant {
  Kind kind;
  DType dtype;
  bool backward;
};

std::string source_of(const Variant& v) {
  static constexpr const char* kDefines[] = {"NEAREST", "EXACT", "LINEAR"};
  std::string out =
      vocabulary(false, 0, false) + compute_lines(v.dtype == DType::float64 ? Compute::f64 : Compute::f32);
  out += fmt::format("using T = {};\n#define {} 1\n{}", stored_type(v.dtype), kDefines[static_cast<int>(v.kind)],
                     v.backward ? "#define BACKWARD 1\n" : "");
  out += text_file("resize_arguments");
  out += text_file("resize");
  return out;
}

// `small` has the sizes of the picture, `resized` those of the resized one; one of them is `in`, the other `out`.
void run(Kind kind, const char* name, const Tensor& in, const Tensor& out, const Tensor& small, const Tensor& resized,
         bool align_corners, Scales scales, bool backward) {
  ResizeArguments a{};
  const size_t rank = scales.size();
  for (int d = 0; d < 3; ++d) a.size[d] = a.out_size[d] = 1, a.scale[d] = 1;
  size_t d = 0;
  for (const std::optional<double>& given : scales) {
    const int64_t from = small.sizes()[2 + d], to = resized.sizes()[2 + d];
    const size_t at = 3 - rank + d++;
    a.size[at] = from;
    a.out_size[at] = to;
    if (kind == Kind::linear && align_corners) {
      a.scale[at] = to > 1 ? static_cast<double>(from - 1) / static_cast<double>(to - 1) : 0;
    } else {
      a.scale[at] = given && *given > 0 ? 1 / *given : static_cast<double>(from) / static_cast<double>(to);
    }
  }
  a.in = in.data();
  a.out = out.data();
  a.elements = resized.numel();
  a.align_corners = align_corners;
  if (a.elements == 0) return;
  const Device device = in.device();
  const Variant v{kind, in.dtype(), backward};
  const Kernel& kernel = find_kernel(
      device, fmt::format("resize/{}/{}{}", static_cast<int>(kind), static_cast<int>(v.dtype), backward ? "b" : ""),
      [&v] { return source_of(v); }, "resize");
  Shape shape;
  shape.grid_x = static_cast<unsigned>((a.elements + 255) / 256);
  shape.block_x = 256;
  launch(device, kernel, shape, &a, sizeof a, name);
}

void forward(Kind kind, const char* name, const Tensor& self, bool align_corners, Scales scales, const Tensor& out) {
  const Tensor in = dense(self);
  const Tensor made = out.is_contiguous() ? out : empty_tensor(out.sizes(), out.dtype(), out.device());
  run(kind, name, in, made, in, made, align_corners, scales, false);
  if (!made.is_same(out)) sconce::copy_(out, made);
}
// Sums are kept in float32 (float64).
void backward(Kind kind, const char* name, const Tensor& grad, bool align_corners, Scales scales, const Tensor& out) {
  const Tensor g = dense(grad);
  const Tensor sums =
      sconce::zeros(out.sizes(), out.dtype() == DType::float64 ? DType::float64 : DType::float32, {}, out.device());
  run(kind, name, g, sums, sums, g, align_corners, scales, true);
  sconce::copy_(out, sums);
}

}  // namespace

using Scale = std::optional<double>;

#define SCONCE_NEAREST(name1, name2, name3, kind)                                                             \
  void name1(const Tensor& self, IntList, Scale s, const Tensor& out) {                                       \
    forward(kind, #name1, self, false, {s}, out);                                                             \
  }                                                                                                           \
  void name2(const Tensor& self, IntList, Scale h, Scale w, const Tensor& out) {                              \
    forward(kind, #name2, self, false, {h, w}, out);                                                          \
  }                                                                                                           \
  void name3(const Tensor& self, IntList, Scale d, Scale h, Scale w, const Tensor& out) {                     \
    forward(kind, #name3, self, false, {d, h, w}, out);                                                       \
  }                                                                                                           \
  void name1##_backward(const Tensor& grad, IntList, IntList, Scale s, const Tensor& out) {                   \
    backward(kind, #name1 "_backward", grad, false, {s}, out);                                                \
  }                                                                                                           \
  void name2##_backward(const Tensor& grad, IntList, IntList, Scale h, Scale w, const Tensor& out) {          \
    backward(kind, #name2 "_backward", grad, false, {h, w}, out);                                             \
  }                                                                                                           \
  void name3##_backward(const Tensor& grad, IntList, IntList, Scale d, Scale h, Scale w, const Tensor& out) { \
    backward(kind, #name3 "_backward", grad, false, {d, h, w}, out);                                          \
  }
SCONCE_NEAREST(upsample_nearest1d, upsample_nearest2d, upsample_nearest3d, Kind::nearest)
SCONCE_NEAREST(_upsample_nearest_exact1d, _upsample_nearest_exact2d, _upsample_nearest_exact3d, Kind::exact)
#undef SCONCE_NEAREST

void upsample_linear1d(const Tensor& self, IntList, bool align_corners, Scale s, const Tensor& out) {
  forward(Kind::linear, "upsample_linear1d", self, align_corners, {s}, out);
}
void upsample_bilinear2d(const Tensor& self, IntList, bool align_corners, Scale h, Scale w, const Tensor& out) {
  forward(Kind::linear, "upsample_bilinear2d", self, align_corners, {h, w}, out);
}
void upsample_trilinear3d(const Tensor& self, IntList, bool align_corners, Scale d, Scale h, Scale w,
                          const Tensor& out) {
  forward(Kind::linear, "upsample_trilinear3d", self, align_corners, {d, h, w}, out);
}
void upsample_linear1d_backward(const Tensor& grad, IntList, IntList, bool align_corners, Scale s, const Tensor& out) {
  backward(Kind::linear, "upsample_linear1d_backward", grad, align_corners, {s}, out);
}
void upsample_bilinear2d_backward(const Tensor& grad, IntList, IntList, bool align_corners, Scale h, Scale w,
                                  const Tensor& out) {
  backward(Kind::linear, "upsample_bilinear2d_backward", grad, align_corners, {h, w}, out);
}
void upsample_trilinear3d_backward(const Tensor& grad, IntList, IntList, bool align_corners, Scale d, Scale h, Scale w,
                                   const Tensor& out) {
  backward(Kind::linear, "upsample_trilinear3d_backward", grad, align_corners, {d, h, w}, out);
}

}  // namespace sconce::cuda
