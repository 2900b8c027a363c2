// The CPU's Backend in lite libraries: memory and copies. Loops, reductions and random numbers are called without it
// (SCONCE_SMALL in kernels/pointwise.cpp), so that a library in which no operator needs them has none. In place of
// kernels/cpu/engine/cpu_backend.cpp and tensor/backend.cpp: there is no other.
#include <cstring>

#include "sconce/base/error.h"
#include "sconce/lite/selected.h"
#include "sconce/tensor/backend.h"
#include "sconce/tensor/memory/allocator.h"

namespace sconce {
namespace {

Backend::Memory allocate(size_t nbytes, Device) {
  const Block block = allocate_block(nbytes);
  return {block.data, reinterpret_cast<void*>(uintptr_t{block.size_class})};
}
void release(Backend::Memory memory, Device) noexcept {
  free_block(memory.data, static_cast<uint8_t>(reinterpret_cast<uintptr_t>(memory.handle)));
}
void copy_bytes(void* to, Device, const void* from, Device, size_t nbytes) { std::memcpy(to, from, nbytes); }
void copy(std::span<const int64_t> sizes, const Operand& out, const Operand& in, Device) {
  if (!lite::copy_loop)
    fail_as(ErrorKind::not_implemented, "copies of tensors: no operator was selected that makes tensors");
  lite::copy_loop(sizes, out, in);
}
void fill(std::span<const int64_t> sizes, const Operand& out, const void* element, Device) {
  static int64_t none[64];  // zeros, which a file has no room for where they are not constant
  copy(sizes, out, {const_cast<void*>(element), out.dtype, none}, {});
}
void synchronize(Device) {}

}  // namespace

constinit const Backend cpu_backend = {.allocate = allocate,
                                       .release = release,
                                       .current_index = nullptr,
                                       .copy_bytes = copy_bytes,
                                       .copy = copy,
                                       .fill = fill,
                                       .pointwise = nullptr,
                                       .reduce = nullptr,
                                       .random = nullptr,
                                       .synchronize = synchronize};

const Backend* find_backend(DeviceType type) { return type == DeviceType::cpu ? &cpu_backend : nullptr; }

const Backend& backend_of(Device device) {
  if (device.type != DeviceType::cpu)
    fail("cannot allocate on device {}: a lite library has the CPU alone", to_string(device));
  return cpu_backend;
}

Device resolve_device(Device device) {
  if (device.type != DeviceType::meta) backend_of(device);
  return device;
}

}  // namespace sconce
