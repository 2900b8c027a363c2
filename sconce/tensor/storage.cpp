#include "sconce/tensor/storage.h"

#include <cstring>
#include <new>

#include "sconce/base/error.h"
#include "sconce/base/memory_quota.h"
#include "sconce/tensor/allocator.h"

namespace sconce {
namespace {

Storage* make_header() {
  const uint8_t size_class = small_class(sizeof(Storage));
  auto* s = new (allocate_small(size_class)) Storage;
  s->block_class = size_class;
  return s;
}

}  // namespace

Ref<Storage> make_storage(size_t nbytes, Device device) { return new_storage(nbytes, device); }

Ref<Storage> make_large_storage(size_t nbytes, Device device) {
  SCONCE_CHECK(device.type != DeviceType::cuda, "cannot allocate on device {}: this build has no CUDA",
               to_string(device));
  if (device.type == DeviceType::meta) {
    Storage* s = make_header();
    s->kind = Storage::Kind::none;
    s->data = nullptr;
    s->nbytes = nbytes;
    s->device = device;
    return Ref<Storage>::adopt(s);
  }
  MemoryQuota::charge(nbytes);
  const Block block = allocate_block(nbytes);
  Storage* s = make_header();
  s->kind = Storage::Kind::pooled;
  s->data = block.data;
  s->data_class = block.size_class;
  s->nbytes = nbytes;
  s->device = device;
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

// Memory that a storage has outgrown while other tensors looked at it. They keep pointers of their own, so it lives as
// long as the storage; a pooled storage keeps the list in `context`.
struct Outgrown {
  void* data;
  uint8_t size_class;
  Outgrown* next;
};

void free_data(Storage& s) noexcept {
  if (s.kind == Storage::Kind::foreign && s.deleter) s.deleter(s.context);
  if (s.kind != Storage::Kind::pooled) return;
  free_block(s.data, s.data_class);
  for (auto* old = static_cast<Outgrown*>(s.context); old;) {
    Outgrown* next = old->next;
    free_block(old->data, old->size_class);
    delete old;
    old = next;
  }
}

}  // namespace

void resize_storage(Storage& s, size_t nbytes) {
  if (s.kind == Storage::Kind::none || nbytes <= s.nbytes) {
    s.nbytes = nbytes;
    return;
  }
  SCONCE_CHECK(s.kind != Storage::Kind::foreign, "cannot grow memory that Sconce does not own ({} to {} bytes)",
               s.nbytes, nbytes);
  const Block block = allocate_block(nbytes);
  if (s.nbytes != 0) std::memcpy(block.data, s.data, s.nbytes);
  if (s.kind == Storage::Kind::pooled) {
    if (s.count.unique()) {
      free_block(s.data, s.data_class);
    } else {
      s.context = new Outgrown{s.data, s.data_class, static_cast<Outgrown*>(s.context)};
    }
  }
  s.kind = Storage::Kind::pooled;
  s.data = block.data;
  s.data_class = block.size_class;
  s.nbytes = nbytes;
}

void destroy(Storage* s) noexcept {
  if (s->kind != Storage::Kind::inline_) free_data(*s);
  const uint8_t block_class = s->block_class;
  s->~Storage();
  free_small(s, block_class);
}

}  // namespace sconce
