#include "sconce/tensor/key_set.h"

#include "sconce/base/error.h"

namespace sconce {

thread_local constinit ThreadModes thread_modes;

std::string_view key_name(Key k) {
  static constexpr char kNames[kKeys][14] = {"CPU",       "CUDA",     "Meta",          "PrivateUse1", "Sparse",
                                             "Quantized", "Python",   "Functionalize", "MathBits",    "View",
                                             "Autograd",  "Autocast", "Tracer",        "Observe",     "Limited"};
  return kNames[static_cast<size_t>(k)];
}

void no_backend_key(DeviceType type) { fail("unknown device type {}", static_cast<int>(type)); }

ModeGuard::ModeGuard(KeySet include, KeySet exclude) : include_(thread_modes.include), exclude_(thread_modes.exclude) {
  thread_modes.include |= include.bits();
  thread_modes.exclude |= exclude.bits();
}

ModeGuard::~ModeGuard() {
  thread_modes.include = include_;
  thread_modes.exclude = exclude_;
}

}  // namespace sconce
