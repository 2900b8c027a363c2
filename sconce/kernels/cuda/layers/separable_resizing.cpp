// Resizing with many taps on CUDA devices: a product with the matrix of weights along each dimension, its transpose for
// the gradient. The weights follow from sizes alone and come from the CPU's code (cpu/resize/resize_taps.h).
#include <vector>

#include "sconce/base/error.h"
#include "sconce/generated/resizing_cuda_kernels.h"
#include "sconce/kernels/cpu/resize/resize_taps.h"
#include "sconce/ops.h"
#include "sconce/tensor/copy.h"

namespace sconce::cuda {
namespace {

using Scale = std::optional<double>;

// [out, in]
Tensor weights_of(ResizeMode mode, int64_t in, int64_t out, bool align_corners, Scale scale, DType dtype,
                  Device device) {
  const ResizeTaps taps = dtype == DType::float64 ? resize_taps<double>(mode, in, out, align_corners, scale)
                                                  : resize_taps<float>(mode, in, out, align_corners, scale);
  const Tensor made = sconce::zeros({out, in}, DType::float64);
  auto* weight = made.data<double>();
  for (int64_t j = 0; j < taps.count; ++j) {
    for (int64_t i = 0; i < out; ++i) {
      const auto at = static_cast<size_t>(j * out + i);
      weight[i * in + taps.index[at]] += taps.weight[at];
    }
  }
  return sconce::to(made, device, dtype);
}

void check(const char* name, const Tensor& t, bool antialias) {
  const bool single_or_double = t.dtype() == DType::float32 || t.dtype() == DType::float64;
  SCONCE_CHECK_AS(not_implemented, antialias ? single_or_double : is_floating(t.dtype()),
                  "\"{}\" not implemented for '{}'", name, dtype_legacy_name(t.dtype()));
}

void forward(const char* name, ResizeMode mode, const Tensor& self, bool align_corners, Scale h, Scale w,
             const Tensor& out) {
  check(name, self, is_antialias(mode));
  if (out.numel() == 0) return;
  const Tensor rows = weights_of(mode, self.size(2), out.size(2), align_corners, h, self.dtype(), self.device());
  const Tensor columns = weights_of(mode, self.size(3), out.size(3), align_corners, w, self.dtype(), self.device());
  sconce::copy_(out, sconce::matmul(rows, sconce::matmul(self, sconce::t(columns))));
}

void backward(const char* name, ResizeMode mode, const Tensor& given, bool align_corners, Scale h, Scale w,
              const Tensor& out) {
  check(name, given, is_antialias(mode));
  if (out.numel() == 0) return;
  if (mode == ResizeMode::cubic && given.sizes() == out.sizes()) {
    sconce::copy_(out, given);
    return;
  }
  const DType compute = given.dtype() == DType::float64 ? DType::float64 : DType::float32;
  const Tensor grad = sconce::to(given, compute);
  const Tensor rows = weights_of(mode, out.size(2), grad.size(2), align_corners, h, compute, grad.device());
  const Tensor columns = weights_of(mode, out.size(3), grad.size(3), align_corners, w, compute, grad.device());
  sconce::copy_(out, sconce::matmul(sconce::t(rows), sconce::matmul(grad, columns)));
}

}  // namespace

#define SCONCE_ANTIALIAS(name, mode)                                                                \
  void name(const Tensor& self, IntList, bool align_corners, Scale h, Scale w, const Tensor& out) { \
    forward(#name, mode, self, align_corners, h, w, out);                                           \
  }                                                                                                 \
  void name##_backward(const Tensor& grad, IntList, IntList, bool align_corners, Scale h, Scale w,  \
                       const Tensor& out) {                                                         \
    backward(#name "_backward", mode, grad, align_corners, h, w, out);                              \
  }
SCONCE_ANTIALIAS(_upsample_bilinear2d_aa, ResizeMode::linear_antialias)
SCONCE_ANTIALIAS(_upsample_bicubic2d_aa, ResizeMode::cubic_antialias)
SCONCE_ANTIALIAS(_upsample_lanczos2d_aa, ResizeMode::lanczos_antialias)
#undef SCONCE_ANTIALIAS

void upsample_bicubic2d_backward(const Tensor& grad, IntList, IntList, bool align_corners, Scale h, Scale w,
                                 const Tensor& out) {
  backward("upsample_bicubic2d_backward", ResizeMode::cubic, grad, align_corners, h, w, out);
}

}  // namespace sconce::cuda
