#include "sconce/dispatch/register_backend.h"

#include "sconce/dispatch/binding/load_device.h"
#include "sconce/dispatch/registry.h"
#include "sconce/tensor/libraries/backend_library.h"

namespace sconce {
namespace {

void refuse(const Op& op, KeySet keys, Value*, Value*) { op.no_kernel(keys); }

const char* kernel_at(const Op& op, Key key) {
  return __atomic_load_n(&op.kernels[static_cast<int>(key)], __ATOMIC_ACQUIRE);
}

}  // namespace

void load_device(const Op& op, KeySet keys, Value* args, Value* returns) {
  load_backend_library(DeviceType::cuda);
  if (kernel_for(op, keys) == SCONCE_BOXED_KERNEL(load_device)) op.no_kernel(keys);
  op.redispatch_boxed(keys, args, returns);
}

void register_backend(DeviceType type, const Backend& backend) {
  set_backend(type, &backend);
  const Key key = backend_key(type);
  set_fallback(key, refuse);
  for (const Op* op : all_ops()) {
    if (op->has(Trait::every_device)) {
      const_cast<Op*>(op)->set_kernel(key, kernel_at(*op, Key::cpu));
    } else if (op->has_kernel(key) && kernel_at(*op, key) == SCONCE_BOXED_KERNEL(load_device)) {
      const_cast<Op*>(op)->set_kernel(key, fallback_kernel(key));
    }
  }
}

bool runs_on(const Op& op, DeviceType type) {
  const Key key = backend_key(type);
  if (!op.has_kernel(key)) return false;
  const char* kernel = kernel_at(op, key);
  return kernel != fallback_kernel(key) && kernel != SCONCE_BOXED_KERNEL(load_device);
}

}  // namespace sconce
