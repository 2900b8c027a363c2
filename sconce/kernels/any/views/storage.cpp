// Where tensors lie, and facts about it.
#include "sconce/base/error.h"
#include "sconce/generated/copy.h"
#include "sconce/generated/sparse.h"
#include "sconce/generated/storage_kernels.h"
#include "sconce/tensor/sparse/sparse_parts.h"
#include "sconce/tensor/strides.h"
#include "sconce/tensor/tensor.h"

namespace sconce::any_device {

int64_t dense_dim(const Tensor& self) {
  if (!is_sparse_tensor(self)) return self.dim();
  const SparseParts& parts = sparse_parts(self);
  return parts.layout == Layout::sparse ? self.dim() - parts.sparse_dim : dense_dims(parts);
}

Tensor to_dense(const Tensor& self, std::optional<DType> dtype, std::optional<bool> masked_grad) {
  if (is_sparse_tensor(self)) return _to_dense(self, dtype, masked_grad);
  return dtype ? to(self, *dtype) : self;
}

std::vector<Tensor> _to_cpu(TensorList tensors) {
  std::vector<Tensor> out;
  for (const Tensor& t : tensors) {
    SCONCE_CHECK_AS(not_implemented, !t.is_meta(), "Cannot copy out of meta tensor; no data!");
    out.push_back(t.device().type == DeviceType::cpu ? t : to(t, Device(), t.dtype()));
  }
  return out;
}

Tensor _pin_memory(const Tensor& self, std::optional<Device> device) {
  SCONCE_CHECK(!self.is_meta(), "cannot pin 'Meta{}' only dense CPU tensors can be pinned",
               dtype_legacy_name(self.dtype()));
  SCONCE_CHECK(!device || device->type != DeviceType::cpu, "CPU device type not an accelerator.");
  fail("Cannot access accelerator device when none is available.");
}

int64_t _debug_has_internal_overlap(const Tensor& self) {
  if (stride_facts(self.sizes(), self.strides()).dense) return 0;
  for (size_t d = 0; d < self.sizes().size(); ++d)
    if (self.sizes()[d] > 1 && self.strides()[d] == 0) return 1;
  return 2;
}

void _assert_tensor_metadata(const Tensor& a, std::optional<IntList> size, std::optional<IntList> stride,
                             std::optional<DType> dtype, std::optional<Device> device, std::optional<Layout> layout) {
  SCONCE_CHECK(!size || a.sizes() == *size, "Tensor sizes mismatch! Expected: {}, Got: {}", *size, a.sizes());
  SCONCE_CHECK(!stride || a.strides() == *stride, "Tensor strides mismatch! Expected: {}, Got: {}", *stride,
               a.strides());
  SCONCE_CHECK(!dtype || a.dtype() == *dtype, "Tensor dtype mismatch! Expected: {}, Got: {}", dtype_name(*dtype),
               dtype_name(a.dtype()));
  SCONCE_CHECK(!device || a.device() == *device, "Tensor device mismatch! Expected: {}, Got: {}", to_string(*device),
               to_string(a.device()));
  SCONCE_CHECK(!layout || *layout == Layout::strided, "Tensor layout mismatch! Expected: layout {}, Got: strided",
               static_cast<int64_t>(*layout));
}

bool _has_compatible_shallow_copy_type(const Tensor& self, const Tensor& from) {
  return self.device().type == from.device().type;
}

}  // namespace sconce::any_device
