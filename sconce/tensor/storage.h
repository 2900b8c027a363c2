// Storage: the bytes behind tensors. Base and views share one. It is owned by counting (Ref<Storage>), its memory is
// freed by its kind: inline behind the header, a block of the allocator, a block of another device's backend, or a
// foreign deleter (a mapped file, numpy memory).
//
// Note [Memory that moves]
// resize_ may have to move the memory of a storage. Tensors keep the address of their first element, and a storage does
// not know its tensors. So where others share it, it keeps the old memory as long as it lives, and sets storages_moved:
// from then on Tensor::data() compares its address with the storage's and corrects it. In a process where that never
// happens, which is nearly every one, it costs a load of a global and a branch.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

#include "sconce/base/ref.h"
#include "sconce/tensor/device.h"
#include "sconce/tensor/memory/allocator.h"

namespace sconce {

using Deleter = void (*)(void* context) noexcept;

struct alignas(64) Storage {
  enum class Kind : uint8_t { inline_, pooled, device, foreign, none };

  RefCount count;
  void* data;            // null on Meta and for zero bytes
  size_t nbytes;         // what tensors may use
  uint32_t version = 0;  // one per in-place operation, shared by base and views
  uint8_t block_class;   // of the header's block
  uint8_t data_class;    // of the data's block, when pooled
  Kind kind;
  bool read_only = false;
  Deleter deleter = nullptr;
  void* context = nullptr;
  Device device;
  void* handle;  // of the backend's block, when `kind` is device

  // Two threads that write one tensor race anyway, so a relaxed load and store is enough and costs nothing.
  void bump_version() {
    std::atomic_ref<uint32_t> v(version);
    v.store(v.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
};

// Data of up to this many bytes lies behind the header, in the same block of at most 1 KiB.
inline constexpr size_t kInlineBytes = 960;

// Uninitialised memory. Device meta: no memory, but nbytes is kept. Throws Error when the device has no backend
// (backend.h) or no memory left.
SCONCE_API Ref<Storage> make_storage(size_t nbytes, Device device);
// Memory that the library does not own; `deleter(context)` runs when the last tensor over it is gone (may be null).
SCONCE_API Ref<Storage> wrap_storage(void* data, size_t nbytes, Deleter deleter, void* context, bool read_only = false);
// Grows or shrinks owned memory, keeping the first bytes. Throws Error for foreign memory that would have to grow. All
// tensors over the storage see the memory that it has afterwards (Note [Memory that moves]).
void resize_storage(Storage& storage, size_t nbytes);
extern SCONCE_API std::atomic<bool> storages_moved;
// Where an address that a tensor over the storage has kept is now.
void* present_address(const Storage& storage, void* kept) noexcept;

SCONCE_API void destroy(Storage* storage) noexcept;

// The same, small ones inline: for the library itself.
Ref<Storage> make_large_storage(size_t nbytes, Device device);
inline Ref<Storage> new_storage(size_t nbytes, Device device) {
  if (device.type != DeviceType::cpu || nbytes > kInlineBytes) [[unlikely]]
    return make_large_storage(nbytes, device);
  const uint8_t size_class = small_class(sizeof(Storage) + nbytes);
  auto* s = new (allocate_small(size_class)) Storage;
  s->block_class = size_class;
  s->kind = Storage::Kind::inline_;
  s->data = s + 1;
  s->nbytes = nbytes;
  s->device = device;
  return Ref<Storage>::adopt(s);
}

inline void retain(Storage* s) noexcept {
  if (s) s->count.retain();
}
inline void release(Storage* s) noexcept {
  if (s && s->count.release()) destroy(s);
}

}  // namespace sconce
