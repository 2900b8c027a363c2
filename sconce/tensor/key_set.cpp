#include "sconce/tensor/key_set.h"

#include "sconce/base/error.h"

namespace sconce {

thread_local constinit ThreadModes thread_modes;

std::string_view key_name(Key k) {
  switch (k) {
    case Key::cpu:
      return "CPU";
    case Key::cuda:
      return "CUDA";
    case Key::meta:
      return "Meta";
    case Key::privateuse1:
      return "PrivateUse1";
    case Key::sparse:
      return "Sparse";
    case Key::quantized:
      return "Quantized";
    case Key::limited:
      return "Limited";
    case Key::python:
      return "Python";
    case Key::functionalize:
      return "Functionalize";
    case Key::view:
      return "View";
    case Key::autograd:
      return "Autograd";
    case Key::autocast:
      return "Autocast";
    case Key::tracer:
      return "Tracer";
    case Key::observe:
      return "Observe";
  }
  return "unknown";
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
