// Tensor: a pointer-sized, counted handle on an n-dimensional array; a null handle is an undefined tensor ("None").
//
// Note [Tensor layout]
// TensorImpl is three cache lines; up to four dimensions only the first two are touched. `meta` packs what most checks
// ask for, so that one xor compares two tensors. Sizes stand at dims[0..rank), strides right behind them at
// dims[rank..2*rank), the rest is zero; more than 8 dimensions live in Extra. Only the accessors know this rule. Stride
// facts (contiguous, channels_last, ...) are computed when sizes or strides are set, never when asked.
//
// The class has two faces. The members here are all that the library itself uses. Programs also get one method per
// operator of the table (`a.add_(b)`) from a generated header; the library is built without it (SCONCE_BUILDING), so
// that a new operator does not rebuild every file. Methods are not virtual and add no data: both faces are one type.
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "sconce/base/export.h"
#include "sconce/base/list_ref.h"
#include "sconce/base/ref.h"
#include "sconce/base/small_vector.h"
#include "sconce/tensor/device.h"
#include "sconce/tensor/dtype.h"
#include "sconce/tensor/generator.h"
#include "sconce/tensor/key_set.h"
#include "sconce/tensor/scalar.h"
#include "sconce/tensor/storage.h"

namespace sconce {

// The autograd state of a tensor, deleted with it (autograd/autograd_state.h has the rest).
struct AutogradMeta {
  virtual ~AutogradMeta() = default;
};

struct SparseParts;  // see sparse_parts.h
struct Quantizer;    // see quantizer.h

// Rare properties of a tensor.
struct Extra {
  std::vector<int64_t> dims;                   // sizes, then strides, when rank > 8
  Ref<Storage> version_storage;                // a version counter of its own (see `.data`), kept in an empty storage
  std::shared_ptr<const SparseParts> sparse;   // of a tensor with Key::sparse
  std::shared_ptr<const Quantizer> quantizer;  // of a tensor with Key::quantized
};

struct alignas(64) TensorImpl {
  // Bits of `meta`
  static constexpr int kKeysAt = 0, kDTypeAt = 16, kRankAt = 24, kDeviceAt = 32, kIndexAt = 40;
  static constexpr uint64_t contiguous = 1ull << 48, channels_last = 1ull << 49, channels_last_3d = 1ull << 50;
  static constexpr uint64_t dense = 1ull << 51;  // non-overlapping and dense, in some order of dimensions
  static constexpr uint64_t wrapped_number = 1ull << 52, inference = 1ull << 54;
  // The elements are the conjugates, or the negatives, of the numbers in memory: Note [Math bits] in math_bits.h.
  static constexpr uint64_t conjugate = 1ull << 53, negative = 1ull << 55;
  // Two facts are dispatch keys at once: autograd sees every call with a tensor that requires grad.
  static constexpr uint64_t requires_grad = KeySet(Key::autograd).bits(), is_view = KeySet(Key::view).bits();
  // Made with its memory, which it fills from begin to end: loops may run over the end, to the next multiple
  // of 64 bytes.
  static constexpr uint64_t whole_block = 1ull << 56;
  static constexpr uint64_t kSameMask = 0x0000'ffff'ffff'0000;  // dtype, rank, device
  static constexpr int kInlineRank = 8;

  RefCount count;
  uint64_t meta;
  // First element, offset applied; on Meta, which has no memory, the offset in bytes. Read it through Tensor::data(),
  // which knows when the memory has moved.
  void* data;
  int64_t numel;
  Storage* storage;
  uint64_t autograd;  // see view_base.h
  void* python;
  Extra* extra;
  int64_t dims[2 * kInlineRank];
};

SCONCE_API void destroy(TensorImpl* impl) noexcept;
inline void retain(TensorImpl* p) noexcept {
  if (p) p->count.retain();
}
inline void release(TensorImpl* p) noexcept {
  if (p && p->count.release()) destroy(p);
}

class Tensor;
using TensorList = ListRef<Tensor>;

class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(Ref<TensorImpl> impl) : impl_(std::move(impl)) {}

  bool defined() const { return static_cast<bool>(impl_); }
  TensorImpl* impl() const { return impl_.get(); }
  TensorImpl* leak() { return impl_.leak(); }
  bool is_same(const Tensor& other) const { return impl_ == other.impl_; }

  DType dtype() const { return static_cast<DType>(impl_->meta >> TensorImpl::kDTypeAt & 0xff); }
  size_t item_size() const { return sconce::item_size(dtype()); }
  Device device() const {
    return {static_cast<DeviceType>(impl_->meta >> TensorImpl::kDeviceAt & 0xff),
            static_cast<int8_t>(impl_->meta >> TensorImpl::kIndexAt & 0xff)};
  }
  bool is_meta() const { return device().type == DeviceType::meta; }
  KeySet keys() const { return KeySet(static_cast<uint16_t>(impl_->meta)); }
  Layout layout() const { return keys().has(Key::sparse) ? sparse_layout() : Layout::strided; }

  int64_t dim() const { return static_cast<int64_t>(impl_->meta >> TensorImpl::kRankAt & 0xff); }
  int64_t numel() const { return impl_->numel; }
  IntList sizes() const { return {dims(), static_cast<size_t>(dim())}; }
  IntList strides() const { return {dims() + dim(), static_cast<size_t>(dim())}; }  // in elements
  // One size or stride; a negative dim counts from the end. Throws Error when out of range.
  SCONCE_API int64_t size(int64_t dim) const;
  SCONCE_API int64_t stride(int64_t dim) const;
  int64_t storage_offset() const {  // in elements
    return (reinterpret_cast<intptr_t>(data()) - reinterpret_cast<intptr_t>(impl_->storage->data)) /
           static_cast<int64_t>(item_size());
  }

  bool is_contiguous(MemoryFormat format = MemoryFormat::contiguous) const {
    const uint64_t flag = format == MemoryFormat::channels_last      ? TensorImpl::channels_last
                          : format == MemoryFormat::channels_last_3d ? TensorImpl::channels_last_3d
                                                                     : TensorImpl::contiguous;
    return impl_->meta & flag;
  }
  bool is_dense() const { return impl_->meta & TensorImpl::dense; }
  bool is_wrapped_number() const { return impl_->meta & TensorImpl::wrapped_number; }
  void set_wrapped_number() const { impl_->meta |= TensorImpl::wrapped_number; }
  // A view requires grad as soon as its base does.
  bool requires_grad() const {
    if (impl_->meta & TensorImpl::requires_grad) return true;
    return (impl_->meta & TensorImpl::is_view) && base_requires_grad();
  }
  bool is_view() const { return impl_->meta & TensorImpl::is_view; }

  void* data() const {
    if (storages_moved.load(std::memory_order_relaxed)) [[unlikely]]
      return moved_data();
    return impl_->data;
  }
  template <class T>
  T* data() const {
    return static_cast<T*>(data());
  }
  Storage* storage() const { return impl_->storage; }

  // Raised by every in-place operation; base and views share it.
  SCONCE_API uint32_t version() const;
  void bump_version() const {
    if (impl_->meta & TensorImpl::inference) [[unlikely]]
      return check_inference_write();
    if (impl_->extra && impl_->extra->version_storage) [[unlikely]]
      impl_->extra->version_storage->bump_version();
    else
      impl_->storage->bump_version();
  }

  // The text that PyTorch's repr gives.
  SCONCE_API std::string to_string() const;

#ifndef SCONCE_BUILDING
#include "sconce/generated/tensor_methods.inc"
#endif

 private:
  const int64_t* dims() const { return dim() <= TensorImpl::kInlineRank ? impl_->dims : impl_->extra->dims.data(); }

  SCONCE_API bool base_requires_grad() const;
  SCONCE_API Layout sparse_layout() const;
  SCONCE_API void check_inference_write() const;
  SCONCE_API void* moved_data() const;  // Note [Memory that moves]

  Ref<TensorImpl> impl_;
};

// A tensor over `storage`. Sizes, strides and offset (in elements) are checked against the storage's bytes: throws
// Error when a size is negative, their product overflows, or an element would lie outside.
SCONCE_API Tensor make_tensor(Ref<Storage> storage, DType dtype, IntList sizes, IntList strides, int64_t offset);
// The same without the check, for views that are inside by construction.
Tensor make_tensor_unchecked(Ref<Storage> storage, DType dtype, IntList sizes, IntList strides, int64_t offset);
// The same memory, geometry and version, but not a view and without history: the result of detach().
SCONCE_API Tensor shallow_copy(const Tensor& tensor);
// A view of `base` with the given geometry, checked; keeps dtype, shares storage and version.
SCONCE_API Tensor make_view(const Tensor& base, IntList sizes, IntList strides, int64_t offset);

// Uninitialised tensors: contiguous in the given format, or with the given strides (which need not be dense).
SCONCE_API Tensor empty_tensor(IntList sizes, DType dtype, Device device = {},
                               MemoryFormat format = MemoryFormat::contiguous);
// Contiguous, with the shape and device of a tensor that exists.
Tensor empty_same_shape(const Tensor& like, DType dtype);
SCONCE_API Tensor empty_strided_tensor(IntList sizes, IntList strides, DType dtype, Device device = {});
// A 0-dim tensor with the value, marked as wrapped number when it stands for a Python number.
SCONCE_API Tensor scalar_tensor_of(const Scalar& value, DType dtype, Device device = {});
Tensor wrapped_number(const Scalar& value);
// The element of a one-element tensor; throws Error for any other.
SCONCE_API Scalar item_of(const Tensor& tensor);

// New geometry for an existing tensor (resize_, squeeze_, set_ ...): same storage, offset in elements.
void set_geometry(const Tensor& tensor, IntList sizes, IntList strides, int64_t offset);
// Memory, sizes and format of another tensor of the same dtype and layout: sparse and quantised tensors are written so.
void take_contents(const Tensor& tensor, const Tensor& from);
// resize_: the same storage, grown when needed, contiguous in `format`.
void resize_tensor(const Tensor& tensor, IntList sizes, MemoryFormat format = MemoryFormat::contiguous);

}  // namespace sconce
