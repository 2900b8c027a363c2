// Reflected and repeated borders on CUDA devices: each padded dimension is an index vector.
#include "sconce/base/error.h"
#include "sconce/generated/padding_cuda_kernels.h"
#include "sconce/ops.h"

namespace sconce::cuda {
namespace {

enum class Border : uint8_t { reflected, repeated };

// Which element of a line of n stands at each place of the padded one.
Tensor source_of(int64_t before, int64_t n, int64_t behind, Border border, Device device) {
  const Tensor at = sconce::arange(Scalar(-before), Scalar(n + behind), DType::int64, {}, device);
  if (border == Border::repeated) return sconce::clamp(at, Scalar(0), Scalar(n - 1));
  return sconce::rsub(sconce::abs(sconce::rsub(sconce::abs(at), Scalar(n - 1))), Scalar(n - 1));
}

void pad(const Tensor& self, IntList padding, Border border, const Tensor& out) {
  Tensor t = self;
  for (size_t i = 0; i + 1 < padding.size(); i += 2) {
    const int64_t dim = self.dim() - 1 - static_cast<int64_t>(i / 2);
    t = sconce::index_select(t, dim, source_of(padding[i], self.sizes()[dim], padding[i + 1], border, self.device()));
  }
  sconce::copy_(out, t);
}

void pad_backward(const Tensor& grad, const Tensor& self, IntList padding, Border border, const Tensor& out) {
  Tensor g = grad;
  for (size_t i = padding.size(); i >= 2; i -= 2) {
    const int64_t dim = self.dim() - static_cast<int64_t>(i / 2);
    Dims sizes(g.sizes());
    sizes[static_cast<size_t>(dim)] = self.sizes()[dim];
    const Tensor to = sconce::zeros(sizes, g.dtype(), {}, g.device());
    sconce::index_add_(to, dim, source_of(padding[i - 2], self.sizes()[dim], padding[i - 1], border, g.device()), g);
    g = to;
  }
  sconce::copy_(out, g);
}

}  // namespace

#define SCONCE_PAD(name, border)                                                                            \
  void name(const Tensor& self, IntList padding, const Tensor& out) { pad(self, padding, border, out); }    \
  void name##_backward(const Tensor& grad_output, const Tensor& self, IntList padding, const Tensor& out) { \
    pad_backward(grad_output, self, padding, border, out);                                                  \
  }
SCONCE_PAD(reflection_pad1d, Border::reflected)
SCONCE_PAD(reflection_pad2d, Border::reflected)
SCONCE_PAD(reflection_pad3d, Border::reflected)
SCONCE_PAD(replication_pad1d, Border::repeated)
SCONCE_PAD(replication_pad2d, Border::repeated)
SCONCE_PAD(replication_pad3d, Border::repeated)
#undef SCONCE_PAD

}  // namespace sconce::cuda
