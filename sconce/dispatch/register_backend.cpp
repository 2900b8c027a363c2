#include "sconce/dispatch/register_backend.h"

#include "sconce/dispatch/registry.h"

namespace sconce {
namespace {

void refuse(const Op& op, KeySet keys, Value*, Value*) { op.no_kernel(keys); }

}  // namespace

void register_backend(DeviceType type, const Backend& backend) {
  set_backend(type, &backend);
  const Key key = backend_key(type);
  set_fallback(key, refuse);
  for (const Op* op : all_ops()) {
    if (op->has(Trait::every_device))
      const_cast<Op*>(op)->set_kernel(key, __atomic_load_n(&op->kernels[static_cast<int>(Key::cpu)], __ATOMIC_ACQUIRE));
  }
}

bool runs_on(const Op& op, DeviceType type) {
  const Key key = backend_key(type);
  if (!op.has_kernel(key)) return false;
  const char* kernel = __atomic_load_n(&op.kernels[static_cast<int>(key)], __ATOMIC_ACQUIRE);
  return kernel != fallback_kernel(key);
}

}  // namespace sconce
