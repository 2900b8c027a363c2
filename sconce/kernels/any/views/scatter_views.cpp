// as_strided_scatter: a copy of a tensor with a part of its storage replaced.
#include "sconce/base/error.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/view_kernels.h"
#include "sconce/tensor/strides.h"

namespace sconce::any_device {

// The geometry counts elements of self's storage, so the copy must have self's place in a storage of the same size.
Tensor as_strided_scatter(const Tensor& self, const Tensor& src, IntList size, IntList stride,
                          std::optional<int64_t> storage_offset) {
  const auto elements = static_cast<int64_t>(self.storage()->nbytes / self.item_size());
  Tensor base = empty_tensor({elements}, self.dtype(), self.device());
  const Tensor out = make_view(base, self.sizes(), self.strides(), self.storage_offset());
  copy_tensor(out, self);
  const Tensor part = make_view(base, size, stride, storage_offset.value_or(self.storage_offset()));
  SCONCE_CHECK(part.sizes() == src.sizes(),
               "expected src to have a size equal to the slice of self. src size = {}, slice size = {}", src.sizes(),
               part.sizes());
  copy_tensor(part, src);
  return out;
}

}  // namespace sconce::any_device
