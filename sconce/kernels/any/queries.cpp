// Queries of a tensor that need no data.
#include "sconce/base/error.h"
#include "sconce/generated/container_kernels.h"
#include "sconce/generated/view_kernels.h"
#include "sconce/tensor/math_bits.h"
#include "sconce/tensor/promotion.h"
#include "sconce/tensor/tensor.h"

namespace sconce::any_device {

std::vector<int64_t> size(const Tensor& self) { return self.sizes().vec(); }
int64_t size_int(const Tensor& self, int64_t dim) {
  SCONCE_CHECK_AS(index, self.dim() > 0, "Dimension specified as {} but tensor has no dimensions", dim);
  return self.size(dim);
}
std::vector<int64_t> stride(const Tensor& self) { return self.strides().vec(); }
int64_t stride_int(const Tensor& self, int64_t dim) {
  SCONCE_CHECK_AS(index, self.dim() > 0, "Dimension specified as {} but tensor has no dimensions", dim);
  return self.stride(dim);
}
int64_t numel(const Tensor& self) { return self.numel(); }
int64_t dim(const Tensor& self) { return self.dim(); }
int64_t storage_offset(const Tensor& self) { return self.storage_offset(); }
bool is_contiguous(const Tensor& self) { return self.is_contiguous(); }
bool is_contiguous_memory_format(const Tensor& self, MemoryFormat memory_format) {
  SCONCE_CHECK(memory_format != MemoryFormat::preserve, "preserve memory format is unsupported by is_contiguous");
  return self.is_contiguous(memory_format);
}
std::vector<int64_t> sym_size(const Tensor& self) { return size(self); }
int64_t sym_size_int(const Tensor& self, int64_t dim) { return size_int(self, dim); }
std::vector<int64_t> sym_stride(const Tensor& self) { return stride(self); }
int64_t sym_stride_int(const Tensor& self, int64_t dim) { return stride_int(self, dim); }
int64_t sym_numel(const Tensor& self) { return self.numel(); }
int64_t sym_storage_offset(const Tensor& self) { return self.storage_offset(); }
bool sym_is_contiguous(const Tensor& self, MemoryFormat memory_format) {
  return is_contiguous_memory_format(self, memory_format);
}
int64_t len_Tensor(const Tensor& t) {
  SCONCE_CHECK_AS(type, t.dim() > 0, "len() of a 0-d tensor");
  return t.size(0);
}
bool is_same_size(const Tensor& self, const Tensor& other) { return self.sizes() == other.sizes(); }
bool is_set_to(const Tensor& self, const Tensor& tensor) {
  const auto first_byte = [](const Tensor& t) { return t.storage_offset() * static_cast<int64_t>(t.item_size()); };
  return self.storage() == tensor.storage() && first_byte(self) == first_byte(tensor) &&
         self.sizes() == tensor.sizes() && self.strides() == tensor.strides() && same_math_bits(self, tensor);
}
bool is_complex(const Tensor& self) { return sconce::is_complex(self.dtype()); }
bool is_floating_point(const Tensor& self) { return is_floating(self.dtype()); }
bool is_signed(const Tensor& self) { return !is_unsigned(self.dtype()) && self.dtype() != DType::bool_; }
bool is_conj(const Tensor& self) { return has_conj_bit(self); }
bool is_neg(const Tensor& self) { return has_neg_bit(self); }
bool is_inference(const Tensor& self) { return self.impl()->meta & TensorImpl::inference; }
bool is_pinned(const Tensor&, std::optional<Device>) { return false; }
int64_t _version(const Tensor& self) { return self.version(); }

DType result_type_Tensor(const Tensor& tensor, const Tensor& other) { return sconce::result_type(tensor, other); }
DType result_type_Scalar(const Tensor& tensor, const Scalar& other) { return sconce::result_type(tensor, other); }
DType result_type_Scalar_Tensor(const Scalar& scalar, const Tensor& tensor) {
  return sconce::result_type(tensor, scalar);
}
DType result_type_Scalar_Scalar(const Scalar& scalar1, const Scalar& scalar2) {
  ResultType type;
  type.add(scalar1);
  type.add(scalar2);
  return type.get();
}
bool can_cast(DType from_, DType to) { return sconce::can_cast(from_, to); }
DType promote_types(DType type1, DType type2) { return sconce::promote_types(type1, type2); }

}  // namespace sconce::any_device
