// set_: a tensor handle that shows other memory from now on.
#include "sconce/base/error.h"
#include "sconce/generated/creation_kernels.h"
#include "sconce/generated/storage_kernels.h"
#include "sconce/tensor/limited_dtypes.h"
#include "sconce/tensor/math_bits.h"
#include "sconce/tensor/memory/write_count.h"
#include "sconce/tensor/strides.h"
#include "sconce/tensor/tensor.h"

namespace sconce::any_device {
namespace {

void show(const Tensor& self, Ref<Storage> storage, IntList size, IntList stride, int64_t offset) {
  const Tensor checked = make_tensor(storage, self.dtype(), size, stride, offset);
  release(self.impl()->storage);
  self.impl()->storage = storage.leak();
  set_geometry(self, checked.sizes(), checked.strides(), offset);
}

// Goes on counting writes where it was, apart from the memory's other tensors if it must.
void keep_version(const Tensor& self, uint32_t version) {
  TensorImpl& t = *self.impl();
  if ((t.meta & TensorImpl::inference) || self.version() == version) return;
  if (!t.extra) t.extra = new Extra;
  t.extra->version_storage = make_storage(0, Device());
  t.extra->version_storage->version = version;
  count_apart(self, t.extra->version_storage);
}

void check_dtype(const Tensor& self, const Tensor& source) {
  SCONCE_CHECK(self.dtype() == source.dtype(), "Could not set tensor of type {} to a tensor of type {}",
               dtype_name(source.dtype()), dtype_name(self.dtype()));
  SCONCE_CHECK(self.device() == source.device(), "Could not set tensor on {} to a tensor on {}",
               to_string(source.device()), to_string(self.device()));
}

}  // namespace

void set__source_Tensor(const Tensor& self, const Tensor& source) {
  if (self.is_same(source)) return;
  check_dtype(self, source);
  show(self, Ref<Storage>::share(source.storage()), source.sizes(), source.strides(), source.storage_offset());
  self.bump_version();
}

void set__source_Tensor_storage_offset(const Tensor& self, const Tensor& source, int64_t storage_offset, IntList size,
                                       IntList stride) {
  check_dtype(self, source);
  const Dims strides = stride.empty() ? dense_strides(size) : Dims(stride);
  show(self, Ref<Storage>::share(source.storage()), Dims(size), strides, storage_offset);
  self.bump_version();
}

void set_(const Tensor& self) {
  show(self, make_storage(0, self.device()), {0}, {1}, 0);
  self.bump_version();
}

void set_data(const Tensor& self, const Tensor& new_data) {
  if (self.is_same(new_data)) return;
  SCONCE_CHECK(
      self.is_meta() == new_data.is_meta(),
      "Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have incompatible tensor type.");
  SCONCE_CHECK(!self.requires_grad() || is_floating(new_data.dtype()) || is_complex(new_data.dtype()),
               "data set to a tensor that requires gradients must be floating point or complex dtype");
  const uint32_t version = self.impl()->meta & TensorImpl::inference ? 0 : self.version();
  uint64_t& meta = self.impl()->meta;
  const auto dtype = static_cast<uint64_t>(static_cast<uint8_t>(new_data.dtype()));
  constexpr uint64_t kOfDType = uint64_t{0xff} << TensorImpl::kDTypeAt | KeySet(Key::limited).bits();
  meta = (meta & ~kOfDType) | dtype << TensorImpl::kDTypeAt | dtype_keys(new_data.dtype()).bits();
  // A parameter that moves to another device stays the same tensor.
  constexpr uint64_t kOfDevice =
      uint64_t{0xff} << TensorImpl::kDeviceAt | uint64_t{0xff} << TensorImpl::kIndexAt | kBackendKeys.bits();
  meta = (meta & ~kOfDevice) | (new_data.impl()->meta & kOfDevice);
  take_math_bits(*self.impl(), *new_data.impl());
  show(self, Ref<Storage>::share(new_data.storage()), new_data.sizes(), new_data.strides(), new_data.storage_offset());
  keep_version(self, version);
}

}  // namespace sconce::any_device
