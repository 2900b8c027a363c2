// Gradients that are no single operator of PyTorch.
#include "sconce/base/error.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/arithmetic.h"
#include "sconce/generated/creation.h"
#include "sconce/generated/indexing.h"
#include "sconce/generated/padding.h"
#include "sconce/kernels/any/views.h"
#include "sconce/tensor/strides.h"

namespace sconce::any_device {

// One part of grad for each tensor; those of shape [0] that cat skips get a gradient of shape [0].
std::vector<Tensor> sconce_cat_backward(const Tensor& grad, TensorList tensors, int64_t dim) {
  const int64_t d = wrap_dim(dim, grad.dim());
  std::vector<Tensor> out;
  int64_t at = 0;
  for (const Tensor& t : tensors) {
    const bool skipped = t.dim() == 1 && t.numel() == 0;
    const int64_t length = skipped ? 0 : t.sizes()[d];
    const Tensor part =
        skipped ? empty_tensor({0}, grad.dtype(), grad.device()) : slice_Tensor(grad, d, at, at + length, 1);
    out.push_back(sconce::to_dtype(part, t.dtype()));
    at += length;
  }
  return out;
}

// Both geometries count elements of one storage: grad is added up there and read where self stands. Where elements of
// self share memory each gets its part.
Tensor sconce_as_strided_backward(const Tensor& grad, const Tensor& self, IntList size, IntList stride,
                                  std::optional<int64_t> storage_offset) {
  const auto elements = static_cast<int64_t>(self.storage()->nbytes / self.item_size());
  const Tensor sums = zeros({elements}, grad.dtype(), {}, grad.device());
  const Tensor numbers = arange(elements, DType::int64, {}, grad.device());
  const Tensor to = reshape(make_view(numbers, size, stride, storage_offset.value_or(self.storage_offset())), {-1});
  index_add_(sums, 0, to, reshape(grad, {-1}));
  bool shared = false;
  for (int64_t d = 0; d < self.dim(); ++d) shared |= self.strides()[d] == 0 && self.sizes()[d] > 1;
  if (shared || !self.is_dense()) {
    const Tensor count = zeros({elements}, grad.dtype(), {}, grad.device());
    const Tensor from = reshape(make_view(numbers, self.sizes(), self.strides(), self.storage_offset()), {-1});
    index_add_(count, 0, from, ones({from.numel()}, grad.dtype(), {}, grad.device()));
    return contiguous_tensor(div(make_view(sums, self.sizes(), self.strides(), self.storage_offset()),
                                 make_view(count, self.sizes(), self.strides(), self.storage_offset())));
  }
  return make_view(sums, self.sizes(), self.strides(), self.storage_offset());
}

Tensor sconce_constant_pad_backward(const Tensor& grad, IntList pad) {
  Dims crop;
  for (int64_t p : pad) crop.push_back(-p);
  return constant_pad_nd(grad, crop, 0);
}

}  // namespace sconce::any_device
