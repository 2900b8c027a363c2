// Attributes of a tensor that a program reads, numbers that become tensors, and initialisation outside of autograd.
#include "sconce/base/error.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/environment_kernels.h"
#include "sconce/kernels/any/layers/nested.h"
#include "sconce/ops.h"
#include "sconce/tensor/grad_mode.h"
#include "sconce/tensor/sparse/sparse_parts.h"
#include "sconce/tensor/strides.h"

namespace sconce::any_device {

Device prim_device(const Tensor& a) { return a.device(); }
int64_t prim_dtype(const Tensor& a) { return static_cast<int64_t>(a.dtype()); }
bool prim_requires_grad(const Tensor& a) { return a.requires_grad(); }
bool prim_is_cpu(const Tensor& a) { return a.device().type == DeviceType::cpu; }
bool prim_is_cuda(const Tensor& a) { return a.device().type == DeviceType::cuda; }
bool prim_is_meta(const Tensor& a) { return a.is_meta(); }
bool prim_is_sparse(const Tensor& a) { return a.layout() == Layout::sparse; }
bool prim_is_sparse_csr(const Tensor& a) { return a.layout() == Layout::sparse_csr; }
bool prim_is_mkldnn(const Tensor& a) { return a.layout() == Layout::mkldnn; }
// No tensor is any of these here.
bool prim_is_xla(const Tensor&) { return false; }
bool prim_is_xpu(const Tensor&) { return false; }
bool prim_is_mps(const Tensor&) { return false; }
bool prim_is_mtia(const Tensor&) { return false; }
bool prim_is_ipu(const Tensor&) { return false; }
bool prim_is_maia(const Tensor&) { return false; }
bool prim_is_vulkan(const Tensor&) { return false; }
bool prim_is_quantized(const Tensor& a) { return is_quantized(a.dtype()); }
bool prim_is_nested(const Tensor& a) { return nested_lengths(a) != nullptr; }
bool _is_zerotensor(const Tensor&) { return false; }
bool is_distributed(const Tensor&) { return false; }

int64_t prim_itemsize(const Tensor& a) { return static_cast<int64_t>(a.item_size()); }
int64_t prim_nbytes(const Tensor& a) { return a.numel() * static_cast<int64_t>(a.item_size()); }
Tensor prim_data(const Tensor& a) { return detach(a); }
int64_t element_size(const Tensor& self) { return static_cast<int64_t>(self.item_size()); }
int64_t get_device(const Tensor& self) { return self.device().type == DeviceType::cpu ? -1 : self.device().index; }
bool is_non_overlapping_and_dense(const Tensor& self) { return self.is_dense(); }
bool is_strides_like_format(const Tensor& self, MemoryFormat memory_format) {
  return memory_format != MemoryFormat::contiguous && memory_format != MemoryFormat::preserve &&
         self.is_contiguous(memory_format);
}
bool is_coalesced(const Tensor& self) {
  SCONCE_CHECK(self.layout() == Layout::sparse, "is_coalesced expected sparse coordinate tensor layout but got {}",
               layout_legacy_name(self.layout()));
  return sparse_parts(self).coalesced;
}
bool _has_same_storage_numel(const Tensor& self, const Tensor& other) {
  return self.storage()->nbytes / self.item_size() == other.storage()->nbytes / other.item_size();
}

// Python's numbers become double, int64, bool and complex128.
Tensor prim_NumToTensor_Scalar(const Scalar& a) {
  return scalar_tensor_of(a, a.is_bool()       ? DType::bool_
                             : a.is_integral() ? DType::int64
                             : a.is_real()     ? DType::float64
                                               : DType::complex128);
}
Tensor prim_NumToTensor_bool(bool a) { return scalar_tensor_of(a, DType::bool_); }

void _no_grad_zero_(const Tensor& tensor) {
  const NoGrad off;
  zero_(tensor);
}
void _no_grad_fill_(const Tensor& tensor, double val) {
  const NoGrad off;
  fill_(tensor, val);
}
void _no_grad_uniform_(const Tensor& tensor, double a, double b, const Generator& generator) {
  const NoGrad off;
  uniform_(tensor, a, b, generator);
}
void _no_grad_normal_(const Tensor& tensor, double mean, double std, const Generator& generator) {
  const NoGrad off;
  normal_(tensor, mean, std, generator);
}
Tensor _no_grad_embedding_renorm_(const Tensor& weight, const Tensor& input, double max_norm, double norm_type) {
  const NoGrad off;
  return sconce::embedding_renorm_(weight, input, max_norm, norm_type);
}

}  // namespace sconce::any_device
