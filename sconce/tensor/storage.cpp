#include "sconce/tensor/storage.h"

#include <new>

#include "sconce/base/budget.h"
#include "sconce/base/error.h"
#include "sconce/tensor/backend.h"
#include "sconce/tensor/memory/allocator.h"

namespace sconce {
namespace {

Storage* make_header() {
  const uint8_t size_class = small_class(sizeof(Storage));
  auto* s = new (allocate_small(size_class)) Storage;
  s->block_class = size_class;
  return s;
}

// A block of the allocator, or of a device's backend.
struct Owned {
  void* data;
  uint8_t size_class;  // the allocator's
  void* handle;        // the backend's
};

Owned take_memory(size_t nbytes, Device device) {
  if (Budget* budget = Budget::active()) [[unlikely]]
    budget->take_tensor_memory(nbytes);
  if (device.type == DeviceType::cpu) {
    const Block block = allocate_block(nbytes);
    return {block.data, block.size_class, nullptr};
  }
  const Backend& backend = backend_of(device);
  const Backend::Memory memory = nbytes == 0 ? Backend::Memory{} : backend.allocate(nbytes, device);
  return {memory.data, 0, memory.handle};
}

void give_back(const Owned& memory, size_t nbytes, Device device) noexcept {
  if (Budget* budget = Budget::active()) [[unlikely]]
    budget->give_tensor_memory(nbytes);
  if (device.type == DeviceType::cpu) {
    free_block(memory.data, memory.size_class);
  } else if (const Backend* backend = find_backend(device.type); backend && memory.data) {
    backend->release({memory.data, memory.handle}, device);
  }
}

bool is_owned(const Storage& s) { return s.kind == Storage::Kind::pooled || s.kind == Storage::Kind::device; }
Owned memory_of(const Storage& s) { return {s.data, s.data_class, s.handle}; }

void own(Storage& s, const Owned& memory, size_t nbytes) {
  s.kind = s.device.type == DeviceType::cpu ? Storage::Kind::pooled : Storage::Kind::device;
  s.data = memory.data;
  s.data_class = memory.size_class;
  s.handle = memory.handle;
  s.nbytes = nbytes;
}

}  // namespace

Ref<Storage> make_storage(size_t nbytes, Device device) { return new_storage(nbytes, device); }

Ref<Storage> make_large_storage(size_t nbytes, Device device) {
  if (device.type == DeviceType::meta) {
    Storage* s = make_header();
    s->kind = Storage::Kind::none;
    s->data = nullptr;
    s->nbytes = nbytes;
    s->device = device;
    return Ref<Storage>::adopt(s);
  }
  device = resolve_device(device);
  const Owned memory = take_memory(nbytes, device);
  Storage* s = make_header();
  s->device = device;
  own(*s, memory, nbytes);
  return Ref<Storage>::adopt(s);
}

Ref<Storage> wrap_storage(void* data, size_t nbytes, Deleter deleter, void* context, bool read_only) {
  Storage* s = make_header();
  s->kind = Storage::Kind::foreign;
  s->data = data;
  s->nbytes = nbytes;
  s->deleter = deleter;
  s->context = context;
  s->read_only = read_only;
  return Ref<Storage>::adopt(s);
}

namespace {

// Memory that a storage has outgrown while other tensors looked at it. They keep addresses in it, so it lives as long
// as the storage, which keeps the list in `context`: nothing else may get these addresses.
struct Outgrown {
  Owned memory;
  size_t nbytes;
  bool in_header;  // behind the storage's header, and freed with that
  Outgrown* next;
};

void free_data(Storage& s) noexcept {
  if (s.kind == Storage::Kind::foreign && s.deleter) s.deleter(s.context);
  if (!is_owned(s)) return;
  give_back(memory_of(s), s.nbytes, s.device);
  for (auto* old = static_cast<Outgrown*>(s.context); old;) {
    Outgrown* next = old->next;
    if (!old->in_header) give_back(old->memory, old->nbytes, s.device);
    delete old;
    old = next;
  }
}

}  // namespace

constinit std::atomic<bool> storages_moved{false};

// The present memory first: it and those before are apart, but one may begin where another ends, and a tensor without
// elements may point there.
void* present_address(const Storage& s, void* kept) noexcept {
  if (!is_owned(s) || !s.context) return kept;
  const auto offset_in = [&](const void* data) {
    return reinterpret_cast<uintptr_t>(kept) - reinterpret_cast<uintptr_t>(data);
  };
  if (offset_in(s.data) <= s.nbytes) return kept;
  for (auto* old = static_cast<const Outgrown*>(s.context); old; old = old->next) {
    const void* begin = old->memory.data;
    if (offset_in(begin) <= old->nbytes) return static_cast<char*>(s.data) + offset_in(begin);
  }
  return kept;
}

void resize_storage(Storage& s, size_t nbytes) {
  if (s.kind == Storage::Kind::none || nbytes <= s.nbytes) {
    s.nbytes = nbytes;
    return;
  }
  SCONCE_CHECK(s.kind != Storage::Kind::foreign, "cannot grow memory that Sconce does not own ({} to {} bytes)",
               s.nbytes, nbytes);
  const Owned memory = take_memory(nbytes, s.device);
  if (s.nbytes != 0) backend_of(s.device).copy_bytes(memory.data, s.device, s.data, s.device, s.nbytes);
  if (!s.count.unique()) {
    const bool owned = is_owned(s);
    s.context = new Outgrown{owned ? memory_of(s) : Owned{s.data, 0, nullptr}, s.nbytes, !owned,
                             owned ? static_cast<Outgrown*>(s.context) : nullptr};
    storages_moved.store(true, std::memory_order_relaxed);
  } else if (is_owned(s)) {
    give_back(memory_of(s), s.nbytes, s.device);
  }
  own(s, memory, nbytes);
}

void destroy(Storage* s) noexcept {
  if (s->kind != Storage::Kind::inline_) free_data(*s);
  const uint8_t block_class = s->block_class;
  s->~Storage();
  free_small(s, block_class);
}

}  // namespace sconce
