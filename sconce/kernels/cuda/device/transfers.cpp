#include "sconce/kernels/cuda/device/transfers.h"

#include "sconce/base/error.h"
#include "sconce/kernels/cuda/device/context.h"

namespace sconce::cuda {
namespace {

constexpr unsigned kPortable = 1;  // CU_MEMHOSTALLOC_PORTABLE: pinned for every context
constexpr unsigned kNoTiming = 2;  // CU_EVENT_DISABLE_TIMING

CUdeviceptr address(const void* data) { return reinterpret_cast<CUdeviceptr>(data); }

// What comes next on `later` waits for what was asked of `first`.
void wait_for(Device later_device, CUstream later, Device first_device, CUstream first) {
  const Driver& d = driver();
  CUevent event = nullptr;
  use(first_device);
  check_device(d.cuEventCreate(&event, kNoTiming), first_device, "cuEventCreate");
  CUresult code = d.cuEventRecord(event, first);
  if (code == kSuccess) {
    use(later_device);
    code = d.cuStreamWaitEvent(later, event, 0);
  }
  d.cuEventDestroy_v2(event);  // the driver keeps it until it has passed
  check_device(code, later_device, "cuStreamWaitEvent");
}

// On the source's stream; the destination's waits, and is waited for.
void copy_between(void* to, Device to_device, const void* from, Device from_device, size_t nbytes) {
  const CUstream there = current_stream(to_device), here = current_stream(from_device);
  const CUcontext to_context = context_of(to_device), from_context = context_of(from_device);
  wait_for(from_device, here, to_device, there);
  use(from_device);
  check_device(driver().cuMemcpyPeerAsync(address(to), to_context, address(from), from_context, nbytes, here),
               from_device, "cuMemcpyPeerAsync");
  wait_for(to_device, there, from_device, here);
}

}  // namespace

void copy_bytes_later(void* to, Device to_device, const void* from, Device from_device, size_t nbytes) {
  const bool is_up = from_device.type == DeviceType::cpu, is_down = to_device.type == DeviceType::cpu;
  SCONCE_ASSERT(!is_up || !is_down);
  const Driver& d = driver();
  if (is_up) {
    const CUstream stream = current_stream(to_device);
    check_device(d.cuMemcpyHtoDAsync_v2(address(to), from, nbytes, stream), to_device, "cuMemcpyHtoDAsync");
  } else if (is_down) {
    const CUstream stream = current_stream(from_device);
    check_device(d.cuMemcpyDtoHAsync_v2(to, address(from), nbytes, stream), from_device, "cuMemcpyDtoHAsync");
  } else if (to_device == from_device) {
    const CUstream stream = current_stream(to_device);
    check_device(d.cuMemcpyDtoDAsync_v2(address(to), address(from), nbytes, stream), to_device, "cuMemcpyDtoDAsync");
  } else {
    copy_between(to, to_device, from, from_device, nbytes);
  }
}

void copy_bytes(void* to, Device to_device, const void* from, Device from_device, size_t nbytes) {
  copy_bytes_later(to, to_device, from, from_device, nbytes);
  const bool is_up = from_device.type == DeviceType::cpu, is_down = to_device.type == DeviceType::cpu;
  if (!is_up && !is_down) return;
  const Device device = is_up ? to_device : from_device;
  synchronize_stream(device, current_stream(device));
}

void* allocate_pinned(size_t nbytes) {
  use(Device(DeviceType::cuda));
  void* data = nullptr;
  const CUresult code = driver().cuMemHostAlloc(&data, nbytes, kPortable);
  SCONCE_CHECK(code == kSuccess, "no pinned host memory of {} bytes: {}", nbytes, error_text(code));
  return data;
}

void release_pinned(void* data) noexcept {
  if (data && find_driver()) driver().cuMemFreeHost(data);
}

}  // namespace sconce::cuda
