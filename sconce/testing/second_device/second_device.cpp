#include "sconce/testing/second_device/second_device.h"

#include <cstring>

#include "sconce/base/error.h"
#include "sconce/dispatch/register_backend.h"
#include "sconce/kernels/draw.h"
#include "sconce/tensor/copy.h"
#include "sconce/testing/second_device/device_memory.h"

namespace sconce::testing {
namespace {

constexpr size_t kMostOperands = 8;

const Backend& cpu() { return *find_backend(DeviceType::cpu); }
DeviceMemory& memory() { return DeviceMemory::instance(); }
bool is_ours(Device device) { return device.type == DeviceType::privateuse1; }

Operand inside(const Operand& operand) { return {memory().inside(operand.data), operand.dtype, operand.strides}; }

Backend::Memory allocate(size_t nbytes, Device device) {
  SCONCE_CHECK(device == kSecondDevice, "there is no device {}: the second device is one", to_string(device));
  return {memory().allocate(nbytes), nullptr};
}

void release(Backend::Memory block, Device) noexcept { memory().release(block.data); }

int8_t current_index() { return kSecondDevice.index; }

void copy_bytes(void* to, Device to_device, const void* from, Device from_device, size_t nbytes) {
  std::memcpy(is_ours(to_device) ? memory().inside(to) : to, is_ours(from_device) ? memory().inside(from) : from,
              nbytes);
}

void copy(std::span<const int64_t> sizes, const Operand& out, const Operand& in, Device) {
  cpu().copy(sizes, inside(out), inside(in), Device());
}

void fill(std::span<const int64_t> sizes, const Operand& out, const void* element, Device) {
  cpu().fill(sizes, inside(out), element, Device());
}

void pointwise(const PointwiseCall& call, Device) {
  Operand in[kMostOperands];
  SCONCE_ASSERT(call.in.size() <= kMostOperands);
  for (size_t i = 0; i < call.in.size(); ++i) in[i] = call.on_host >> i & 1 ? call.in[i] : inside(call.in[i]);
  PointwiseCall moved = call;
  moved.out = inside(call.out);
  moved.in = {in, call.in.size()};
  cpu().pointwise(moved, Device());
}

void reduce(const ReduceCall& call, Device) {
  Operand out[kMostOperands];
  SCONCE_ASSERT(call.out.size() <= kMostOperands);
  for (size_t i = 0; i < call.out.size(); ++i) out[i] = inside(call.out[i]);
  ReduceCall moved = call;
  moved.in = inside(call.in);
  moved.out = {out, call.out.size()};
  cpu().reduce(moved, Device());
}

// Drawn on the host, in memory of the same geometry: the CPU's numbers.
void random(const Tensor& out, const Draw& draw, const Generator& generator) {
  const Tensor host = empty_strided_tensor(out.sizes(), out.strides(), out.dtype());
  Draw moved = draw;
  const Tensor each = draw.each ? host_copy(*draw.each) : Tensor();
  if (draw.each) moved.each = &each;
  cpu().random(host, moved, generator);
  copy_tensor(out, host);
}

void synchronize(Device) {}

constexpr Backend kBackend = {.allocate = allocate,
                              .release = release,
                              .current_index = current_index,
                              .copy_bytes = copy_bytes,
                              .copy = copy,
                              .fill = fill,
                              .pointwise = pointwise,
                              .reduce = reduce,
                              .random = random,
                              .synchronize = synchronize};

}  // namespace

void register_second_device() {
  if (find_backend(DeviceType::privateuse1) == nullptr) register_backend(DeviceType::privateuse1, kBackend);
}

std::string take_touch() { return memory().take_touch(); }
size_t second_device_bytes() { return memory().allocated(); }

}  // namespace sconce::testing
