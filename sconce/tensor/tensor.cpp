#include "sconce/tensor/tensor.h"

#include <cstring>
#include <new>

#include "sconce/base/checked.h"
#include "sconce/base/error.h"
#include "sconce/tensor/backend.h"
#include "sconce/tensor/element.h"
#include "sconce/tensor/inner_view.h"
#include "sconce/tensor/limited_dtypes.h"
#include "sconce/tensor/math_bits.h"
#include "sconce/tensor/memory/allocator.h"
#include "sconce/tensor/memory/geometry_changes.h"
#include "sconce/tensor/python_owner.h"
#include "sconce/tensor/quantized_tensor.h"
#include "sconce/tensor/sparse/sparse_parts.h"
#include "sconce/tensor/strides.h"
#include "sconce/tensor/view_base.h"

namespace sconce {
namespace {

constexpr int kMaxRank = 64;

constexpr uint8_t kImplClass = small_class(sizeof(TensorImpl));

// Sizes and strides as eight vectors: for 128 bytes g++ takes `rep stos`, which costs more than the rest of a new
// tensor.
typedef int64_t DimsVector __attribute__((vector_size(16), may_alias));  // an alias takes no such attribute in clang
static_assert(sizeof(TensorImpl::dims) == 8 * sizeof(DimsVector));
inline void clear_dims(TensorImpl& t) {
  auto* to = reinterpret_cast<DimsVector*>(t.dims);
  for (int i = 0; i < 8; ++i) {
    to[i] = DimsVector{};
    asm volatile("" : : : "memory");  // or it is a memset again
  }
}
inline void copy_dims(TensorImpl& t, const TensorImpl& from) {
  auto* to = reinterpret_cast<DimsVector*>(t.dims);
  const auto* source = reinterpret_cast<const DimsVector*>(from.dims);
  for (int i = 0; i < 8; ++i) {
    to[i] = source[i];
    asm volatile("" : : : "memory");
  }
}

Ref<TensorImpl> new_impl() { return Ref<TensorImpl>::adopt(new (allocate_small(kImplClass)) TensorImpl); }

// Keys of what is neither on the CPU nor of an everyday dtype.
SCONCE_COLD KeySet uncommon_keys(DType dtype, Device device) {
  SCONCE_CHECK_AS(not_implemented, dtype != kComplex32, "tensors of dtype complex32 are not supported");
  if (is_limited(dtype) && limited_tensor_made) limited_tensor_made(dtype);
  if (is_quantized(dtype) && format_used) format_used(Key::quantized);
  return KeySet(backend_key(device.type)) | dtype_keys(dtype);
}

uint64_t base_meta(DType dtype, Device device) {
  KeySet keys = Key::cpu;
  if (device.type != DeviceType::cpu || is_uncommon(dtype)) [[unlikely]]
    keys = uncommon_keys(dtype, device);
  return static_cast<uint64_t>(keys.bits()) |
         static_cast<uint64_t>(static_cast<uint8_t>(dtype)) << TensorImpl::kDTypeAt |
         static_cast<uint64_t>(static_cast<uint8_t>(device.type)) << TensorImpl::kDeviceAt |
         static_cast<uint64_t>(static_cast<uint8_t>(device.index)) << TensorImpl::kIndexAt |
         (thread_modes.inference ? TensorImpl::inference : 0);
}

constexpr uint64_t kGeometryBits = 0xffull << TensorImpl::kRankAt | TensorImpl::contiguous | TensorImpl::channels_last |
                                   TensorImpl::channels_last_3d | TensorImpl::dense | TensorImpl::whole_block;

void write_geometry(TensorImpl& t, IntList sizes, IntList strides, int64_t numel, uint64_t facts) {
  const size_t rank = sizes.size();
  SCONCE_CHECK(rank <= kMaxRank, "a tensor has at most {} dimensions, got {}", kMaxRank, rank);
  t.meta = (t.meta & ~kGeometryBits) | static_cast<uint64_t>(rank) << TensorImpl::kRankAt | facts;
  t.numel = numel;
  if (rank <= TensorImpl::kInlineRank) {
    clear_dims(t);
    for (size_t i = 0; i < rank; ++i) t.dims[i] = sizes[i];
    for (size_t i = 0; i < rank; ++i) t.dims[rank + i] = strides[i];
    return;
  }
  if (!t.extra) t.extra = new Extra;
  std::vector<int64_t> dims(2 * rank);
  for (size_t i = 0; i < rank; ++i) {
    dims[i] = sizes[i];
    dims[rank + i] = strides[i];
  }
  t.extra->dims.swap(dims);
}

uint64_t fact_bits(IntList sizes, IntList strides) {
  const StrideFacts f = stride_facts(sizes, strides);
  return (f.contiguous ? TensorImpl::contiguous : 0) | (f.channels_last ? TensorImpl::channels_last : 0) |
         (f.channels_last_3d ? TensorImpl::channels_last_3d : 0) | (f.dense ? TensorImpl::dense : 0);
}

int64_t plain_numel(IntList sizes) {
  uint64_t n = 1;  // unsigned: next to a size of 0 the others may be any
  for (int64_t s : sizes) n *= static_cast<uint64_t>(s);
  return static_cast<int64_t>(n);
}

// Throws when an element of the geometry lies outside of nbytes.
void check_bounds(DType dtype, IntList sizes, IntList strides, int64_t offset, size_t nbytes) {
  SCONCE_CHECK(sizes.size() == strides.size(), "sizes {} and strides {} must have the same length", sizes, strides);
  SCONCE_CHECK(offset >= 0 && offset <= INT64_MAX / 32, "invalid storage offset {}", offset);
  for (int64_t s : strides) SCONCE_CHECK(s >= 0, "strides must not be negative, got {}", strides);
  if (checked_numel(sizes) == 0) return;
  int64_t last = offset;
  bool overflow = false;
  for (size_t i = 0; i < sizes.size(); ++i) {
    int64_t reach;
    overflow |= __builtin_mul_overflow(sizes[i] - 1, strides[i], &reach);
    overflow |= __builtin_add_overflow(last, reach, &last);
  }
  int64_t bytes = 0;
  overflow |= __builtin_add_overflow(last, 1, &last);
  overflow |= __builtin_mul_overflow(last, static_cast<int64_t>(item_size(dtype)), &bytes);
  SCONCE_CHECK(!overflow && static_cast<uint64_t>(bytes) <= nbytes,
               "sizes {}, strides {}, storage offset {} and item size {} are out of bounds for storage of size {}",
               sizes, strides, offset, item_size(dtype), nbytes);
}

size_t bytes_for(int64_t numel, DType dtype) {
  ptrdiff_t bytes;
  SCONCE_CHECK(!__builtin_mul_overflow(numel, static_cast<int64_t>(item_size(dtype)), &bytes),
               "{} elements of {} do not fit into memory", numel, dtype_name(dtype));
  return static_cast<size_t>(bytes);
}

std::atomic<PythonRelease> python_release = nullptr;

}  // namespace

void set_python_release(PythonRelease release) noexcept { python_release.store(release); }

void destroy(TensorImpl* impl) noexcept {
  if (reinterpret_cast<uintptr_t>(impl->python) & kOwnsPython) [[unlikely]] {
    // The count goes with the tensor, so that what others do with the object meanwhile does not end here a second time.
    if (impl->count.owners() == 0) impl->count.retain();
    if (python_release.load()(impl)) return;
  }
  release(impl->storage);
  if (impl->autograd) [[unlikely]]
    drop_autograd(*impl);
  delete impl->extra;
  impl->~TensorImpl();
  free_small(impl, kImplClass);
}

void* Tensor::moved_data() const {
  const std::atomic_ref<void*> kept(impl_->data);  // threads may find out at once
  void* before = kept.load(std::memory_order_relaxed);
  void* now = present_address(*impl_->storage, before);
  if (now != before) kept.store(now, std::memory_order_relaxed);
  return now;
}

int64_t Tensor::size(int64_t d) const {
  if (d >= 0 && d < dim()) return sizes()[d];  // nearly all calls: checks of operators ask often
  SCONCE_CHECK_AS(index, dim() > 0, "Dimension specified as {} but tensor has no dimensions", d);
  return sizes()[wrap_dim(d, dim())];
}

int64_t Tensor::stride(int64_t d) const {
  SCONCE_CHECK_AS(index, dim() > 0, "Dimension specified as {} but tensor has no dimensions", d);
  return strides()[wrap_dim(d, dim())];
}

uint32_t Tensor::version() const {
  SCONCE_CHECK(!(impl_->meta & TensorImpl::inference), "Inference tensors do not track version counter.");
  return impl_->extra && impl_->extra->version_storage ? impl_->extra->version_storage->version
                                                       : impl_->storage->version;
}

Tensor make_tensor_unchecked(Ref<Storage> storage, DType dtype, IntList sizes, IntList strides, int64_t offset) {
  const uint64_t meta =
      base_meta(dtype, storage->device);  // may throw, so before the impl, which starts without values
  Ref<TensorImpl> t = new_impl();
  t->meta = meta;
  t->data = reinterpret_cast<void*>(reinterpret_cast<intptr_t>(storage->data) +
                                    offset * static_cast<int64_t>(item_size(dtype)));
  t->storage = storage.leak();
  t->autograd = 0;
  t->python = nullptr;
  t->extra = nullptr;
  write_geometry(*t, sizes, strides, plain_numel(sizes), fact_bits(sizes, strides));
  return Tensor(std::move(t));
}

Tensor make_tensor(Ref<Storage> storage, DType dtype, IntList sizes, IntList strides, int64_t offset) {
  check_bounds(dtype, sizes, strides, offset, storage->nbytes);
  return make_tensor_unchecked(std::move(storage), dtype, sizes, strides, offset);
}

Tensor make_view(const Tensor& base, IntList sizes, IntList strides, int64_t offset) {
  check_bounds(base.dtype(), sizes, strides, offset, base.storage()->nbytes);
  Tensor view = make_tensor_unchecked(Ref<Storage>::share(base.storage()), base.dtype(), sizes, strides, offset);
  if (is_quantized(base.dtype())) [[unlikely]]
    take_quantizer(*view.impl(), *base.impl());
  take_math_bits(*view.impl(), *base.impl());
  become_view(*view.impl(), *base.impl());
  return view;
}

Layout Tensor::sparse_layout() const { return impl_->extra->sparse->layout; }

namespace {

// The flags that a view takes over from its base: dtype, device and their keys; keys of modes and marks of the base do
// not pass on.
uint64_t kept_meta(const TensorImpl& base) {
  constexpr uint64_t kKept =
      0xffull << TensorImpl::kDTypeAt | 0xffull << TensorImpl::kDeviceAt | 0xffull << TensorImpl::kIndexAt | kMathBits;
  return base.meta & (kKept | (kBackendKeys | Key::limited | Key::quantized).bits());
}

Ref<TensorImpl> new_view(TensorImpl& base, void* data) {
  Ref<TensorImpl> t = new_impl();
  t->meta = kept_meta(base);
  t->data = data;
  t->storage = base.storage;
  retain(t->storage);
  t->autograd = 0;
  t->python = nullptr;
  t->extra = nullptr;
  become_view(*t, base);
  return t;
}

}  // namespace

Tensor make_view_unchecked(const Tensor& base, IntList sizes, IntList strides, int64_t offset) {
  TensorImpl& b = *base.impl();
  Ref<TensorImpl> t = new_view(b, reinterpret_cast<void*>(reinterpret_cast<intptr_t>(b.storage->data) +
                                                          offset * static_cast<int64_t>(base.item_size())));
  write_geometry(*t, sizes, strides, plain_numel(sizes), fact_bits(sizes, strides));
  if (is_quantized(base.dtype())) [[unlikely]]
    take_quantizer(*t, b);
  return Tensor(std::move(t));
}

Tensor shallow_copy(const Tensor& tensor) {
  const TensorImpl& from = *tensor.impl();
  Ref<TensorImpl> t = new_impl();
  t->meta = from.meta & ~(TensorImpl::is_view | TensorImpl::requires_grad);
  t->data = tensor.data();
  t->numel = from.numel;
  t->storage = from.storage;
  retain(t->storage);
  t->autograd = 0;
  t->python = nullptr;
  t->extra = from.extra ? new Extra(*from.extra) : nullptr;
  copy_dims(*t, from);
  return Tensor(std::move(t));
}

void set_math_bits(TensorImpl& t, bool conjugate, bool negative) {
  uint64_t bits = 0;
  if (conjugate) bits |= TensorImpl::conjugate;
  if (negative) bits |= TensorImpl::negative;
  if (bits != 0) {
    if (format_used) format_used(Key::math_bits);
    bits |= KeySet(Key::math_bits).bits();
  }
  t.meta = (t.meta & ~kMathBits) | bits;
}

Tensor without_math_bits(const Tensor& t) {
  Tensor memory = shallow_copy(t);
  memory.impl()->meta &= ~kMathBits;
  return memory;
}

Tensor resolved_math_bits(const Tensor& t) { return has_math_bits(t) ? resolve_math_bits(t) : t; }

Tensor make_contiguous_view(const Tensor& base, IntList sizes) {
  const size_t rank = sizes.size();
  if (rank > TensorImpl::kInlineRank || rank == 4 || rank == 5 || base.numel() == 0)
    return make_view_unchecked(base, sizes, dense_strides(sizes), base.storage_offset());
  Ref<TensorImpl> t = new_view(*base.impl(), base.data());
  t->meta |= static_cast<uint64_t>(rank) << TensorImpl::kRankAt | TensorImpl::contiguous | TensorImpl::dense;
  t->numel = base.numel();
  clear_dims(*t);
  int64_t step = 1;
  for (size_t i = rank; i-- > 0;) {
    t->dims[i] = sizes[i];
    t->dims[rank + i] = step;
    step *= sizes[i];
  }
  if (is_quantized(base.dtype())) [[unlikely]]
    take_quantizer(*t, *base.impl());
  return Tensor(std::move(t));
}

namespace {

// A contiguous tensor of a rank whose facts need no looking at: strides are written in place.
inline Tensor new_contiguous(const int64_t* sizes, size_t rank, int64_t numel, uint64_t meta, Ref<Storage> storage) {
  Ref<TensorImpl> t = new_impl();
  t->meta = meta | static_cast<uint64_t>(rank) << TensorImpl::kRankAt | TensorImpl::contiguous | TensorImpl::dense |
            TensorImpl::whole_block;
  t->data = storage->data;
  t->numel = numel;
  t->storage = storage.leak();
  t->autograd = 0;
  t->python = nullptr;
  t->extra = nullptr;
  clear_dims(*t);
  int64_t step = 1;
  for (size_t i = rank; i-- > 0;) {
    t->dims[i] = sizes[i];
    t->dims[rank + i] = step;
    step *= sizes[i];
  }
  return Tensor(std::move(t));
}

// The strides that empty_tensor gives, exactly.
bool is_row_major(IntList sizes, IntList strides) {
  int64_t step = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    if (strides[i] != step || sizes[i] <= 0 || __builtin_mul_overflow(step, sizes[i], &step)) return false;
  }
  return true;
}

// Ranks 4 and 5 may also be channels_last, and more than 8 dimensions live elsewhere.
bool is_plain_rank(size_t rank) { return rank <= TensorImpl::kInlineRank && rank != 4 && rank != 5; }

}  // namespace

Tensor empty_tensor(IntList sizes, DType dtype, Device device, MemoryFormat format) {
  const int64_t numel = checked_numel(sizes);
  if (format == MemoryFormat::contiguous && is_plain_rank(sizes.size()) && numel != 0) [[likely]] {
    if (device.type != DeviceType::cpu) [[unlikely]]
      device = resolve_device(device);
    const uint64_t meta = base_meta(dtype, device);
    return new_contiguous(sizes.data(), sizes.size(), numel, meta, new_storage(bytes_for(numel, dtype), device));
  }
  SCONCE_CHECK(format != MemoryFormat::preserve, "memory format preserve needs a tensor to take it from");
  const Dims strides = dense_strides(sizes, format);
  return make_tensor_unchecked(make_storage(bytes_for(numel, dtype), device), dtype, sizes, strides, 0);
}

Tensor empty_same_shape(const Tensor& like, DType dtype) {
  const TensorImpl& t = *like.impl();
  const auto rank = static_cast<size_t>(like.dim());
  if (!is_plain_rank(rank) || t.numel == 0 || is_uncommon(dtype))
    return empty_tensor(like.sizes(), dtype, like.device());
  constexpr uint64_t kDevice = 0xffull << TensorImpl::kDeviceAt | 0xffull << TensorImpl::kIndexAt;
  const uint64_t meta = (t.meta & (kDevice | kBackendKeys.bits())) |
                        static_cast<uint64_t>(static_cast<uint8_t>(dtype)) << TensorImpl::kDTypeAt |
                        (thread_modes.inference ? TensorImpl::inference : 0);
  return new_contiguous(t.dims, rank, t.numel, meta, new_storage(bytes_for(t.numel, dtype), like.device()));
}

Tensor empty_strided_tensor(IntList sizes, IntList strides, DType dtype, Device device) {
  SCONCE_CHECK(sizes.size() == strides.size(), "sizes {} and strides {} must have the same length", sizes, strides);
  if (is_row_major(sizes, strides)) return empty_tensor(sizes, dtype, device);
  int64_t last = 0;
  bool overflow = false;
  const int64_t numel = checked_numel(sizes);
  for (size_t i = 0; i < sizes.size(); ++i) {
    SCONCE_CHECK(strides[i] >= 0, "strides must not be negative, got {}", strides);
    int64_t reach;
    overflow |= __builtin_mul_overflow(sizes[i] - 1, strides[i], &reach);
    overflow |= __builtin_add_overflow(last, reach, &last);
  }
  SCONCE_CHECK(numel == 0 || (!overflow && last < INT64_MAX), "sizes {} with strides {} do not fit into memory", sizes,
               strides);
  return make_tensor_unchecked(make_storage(numel == 0 ? 0 : bytes_for(last + 1, dtype), device), dtype, sizes, strides,
                               0);
}

namespace {

// Room for one element of any dtype, on its way between a device and the host.
struct alignas(16) Element {
  char bytes[16];
};

}  // namespace

Tensor scalar_tensor_of(const Scalar& value, DType dtype, Device device) {
  Tensor t = empty_tensor({}, dtype, device);
  if (device.type == DeviceType::cpu) [[likely]] {
    store_scalar(t.data(), dtype, value);
  } else if (device.type != DeviceType::meta) {
    Element element;
    store_scalar(element.bytes, dtype, value);
    backend_of(device).copy_bytes(t.data(), t.device(), element.bytes, Device(), t.item_size());
  }
  return t;
}

Tensor wrapped_number(const Scalar& value) {
  const DType dtype = value.is_real() ? DType::float64 : value.is_complex() ? DType::complex128 : value.dtype();
  Tensor t = scalar_tensor_of(value, dtype);
  t.set_wrapped_number();
  return t;
}

Scalar item_of(const Tensor& tensor) {
  SCONCE_CHECK(tensor.numel() == 1, "a Tensor with {} elements cannot be converted to Scalar", tensor.numel());
  SCONCE_CHECK(!tensor.is_meta(), "a tensor on the meta device has no value");
  SCONCE_CHECK(!tensor.keys().has(Key::sparse), "Cannot access data pointer of Tensor that doesn't have storage");
  if (has_math_bits(tensor)) [[unlikely]]
    return item_of(resolved_math_bits(tensor));
  if (tensor.device().type == DeviceType::cpu) [[likely]]
    return load_scalar(tensor.data(), tensor.dtype());
  Element element;
  backend_of(tensor.device()).copy_bytes(element.bytes, Device(), tensor.data(), tensor.device(), tensor.item_size());
  return load_scalar(element.bytes, tensor.dtype());
}

constinit std::atomic<uint64_t> geometry_changes{0}, grad_flag_changes{0};

void set_geometry(const Tensor& tensor, IntList sizes, IntList strides, int64_t offset) {
  geometry_changes.fetch_add(1, std::memory_order_relaxed);
  check_bounds(tensor.dtype(), sizes, strides, offset, tensor.storage()->nbytes);
  const Dims kept_sizes(sizes), kept_strides(strides);  // they may point into the tensor itself
  TensorImpl& t = *tensor.impl();
  write_geometry(t, kept_sizes, kept_strides, plain_numel(kept_sizes), fact_bits(kept_sizes, kept_strides));
  t.data = reinterpret_cast<void*>(reinterpret_cast<intptr_t>(t.storage->data) +
                                   offset * static_cast<int64_t>(tensor.item_size()));
}

void take_contents(const Tensor& tensor, const Tensor& from) {
  geometry_changes.fetch_add(1, std::memory_order_relaxed);
  TensorImpl& t = *tensor.impl();
  const TensorImpl& f = *from.impl();
  if (!tensor.keys().has(Key::sparse)) {  // the storage of a sparse tensor holds its version only
    retain(f.storage);
    release(t.storage);
    t.storage = f.storage;
    t.data = f.data;
  }
  const Ref<Storage> version = t.extra ? t.extra->version_storage : Ref<Storage>();
  delete t.extra;
  t.extra = f.extra || version ? new Extra(f.extra ? *f.extra : Extra()) : nullptr;
  if (t.extra) t.extra->version_storage = version;
  t.meta = (t.meta & ~kGeometryBits) | (f.meta & kGeometryBits & ~TensorImpl::whole_block);
  t.numel = f.numel;
  copy_dims(t, f);
}

void resize_tensor(const Tensor& tensor, IntList sizes, MemoryFormat format) {
  geometry_changes.fetch_add(1, std::memory_order_relaxed);
  const Dims kept(sizes);
  const int64_t numel = checked_numel(kept);
  const Dims strides = dense_strides(kept, format);
  const int64_t offset = tensor.storage_offset();
  const size_t need = numel == 0 ? 0 : bytes_for(Checked(offset) + numel, tensor.dtype());
  if (need > tensor.storage()->nbytes) resize_storage(*tensor.storage(), need);
  set_geometry(tensor, kept, strides, offset);
}

}  // namespace sconce
