#include "sconce/tensor/backend.h"

#include "sconce/base/error.h"
#include "sconce/tensor/libraries/backend_library.h"

namespace sconce {
namespace {

static_assert(static_cast<int>(DeviceType::cpu) == 0);
constinit const Backend* backends[kDeviceTypes] = {&cpu_backend};

}  // namespace

const Backend* find_backend(DeviceType type) {
  const Backend*& slot = backends[static_cast<uint8_t>(type)];
  const Backend* backend = __atomic_load_n(&slot, __ATOMIC_ACQUIRE);
  if (backend || type != DeviceType::cuda) [[likely]]
    return backend;
  load_backend_library(type);
  return __atomic_load_n(&slot, __ATOMIC_ACQUIRE);
}

const Backend& backend_of(Device device) {
  const Backend* backend = find_backend(device.type);
  if (!backend) [[unlikely]] {
    fail("cannot allocate on device {}: {}", to_string(device), why_no_backend(device.type));
  }
  return *backend;
}

void set_backend(DeviceType type, const Backend* backend) {
  SCONCE_CHECK(type != DeviceType::cpu && type != DeviceType::meta, "device {} needs no other backend",
               to_string(Device(type)));
  __atomic_store_n(&backends[static_cast<uint8_t>(type)], backend, __ATOMIC_RELEASE);
}

Device resolve_device(Device device) {
  if (device.index >= 0 || device.type == DeviceType::cpu || device.type == DeviceType::meta) return device;
  const Backend& backend = backend_of(device);
  if (backend.current_index) device.index = backend.current_index();
  return device;
}

}  // namespace sconce
