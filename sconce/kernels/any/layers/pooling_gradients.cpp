// Gradients of pooling by the places of the largest elements.
#include "sconce/generated/pooling_kernels.h"
#include "sconce/ops.h"

namespace sconce::any_device {

// Kernels read sizes, strides and dtype of `self`. A formula keeps no more of it, so it may be without memory, or on
// Meta: they are given one that has none, on the device of the gradient.
Tensor sconce_max_pool2d_gradient(const Tensor& grad_output, const Tensor& self, IntList kernel_size, IntList stride,
                                  IntList padding, IntList dilation, bool ceil_mode, const Tensor& indices) {
  const Tensor hollow =
      make_tensor_unchecked(make_storage(0, grad_output.device()), self.dtype(), self.sizes(), self.strides(), 0);
  return max_pool2d_with_indices_backward(grad_output, hollow, kernel_size, stride, padding, dilation, ceil_mode,
                                          indices);
}

}  // namespace sconce::any_device
