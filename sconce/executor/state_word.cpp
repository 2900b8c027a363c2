#include "sconce/executor/state_word.h"

#include "sconce/autograd/autocast_mode.h"
#include "sconce/base/parallel.h"
#include "sconce/dispatch/binding/autocast.h"
#include "sconce/kernels/cpu/engine/cpu_level.h"
#include "sconce/tensor/dtype.h"
#include "sconce/tensor/key_set.h"
#include "sconce/tensor/memory/geometry_changes.h"

namespace sconce::executor {

AmbientState ambient_state() noexcept {
  const ThreadModes& m = thread_modes;
  AmbientState state;
  state.modes =
      uint64_t{m.include} | uint64_t{m.exclude} << 16 | uint64_t{m.exclude_grad} << 32 | uint64_t{m.inference} << 48;
  state.settings = static_cast<uint64_t>(default_dtype()) | uint64_t{is_deterministic()} << 16 |
                   static_cast<uint64_t>(static_cast<uint32_t>(num_threads())) << 32;
  if (m.include & KeySet(Key::autocast).bits()) {
    state.settings |= static_cast<uint64_t>(autocast_dtype()) << 8;
    state.settings |= uint64_t{autograd::autocast_cache_enabled()} << 17;
  }
  return state;
}

std::string difference(const AmbientState& expected, const AmbientState& actual) {
  const uint64_t modes = expected.modes ^ actual.modes, settings = expected.settings ^ actual.settings;
  const uint64_t autocast = KeySet(Key::autocast).bits();
  std::string text;
  const auto add = [&](bool differs, const char* name) {
    if (!differs) return;
    if (!text.empty()) text += ", ";
    text += name;
  };
  add(modes >> 32 & 0xffff, "grad_mode");
  add(modes >> 48 & 0xff, "inference_mode");
  add((modes & autocast) || (settings >> 8 & 0xff) || (settings >> 17 & 1), "autocast_state");
  add((modes & 0xffff & ~autocast) || (modes >> 16 & 0xffff), "dispatch modes");
  add(settings & 0xff, "default_dtype");
  add(settings >> 16 & 1, "deterministic");
  add(settings >> 32, "num_threads");
  return text;
}

uint64_t tensor_changes() noexcept {
  return geometry_changes.load(std::memory_order_relaxed) + grad_flag_changes.load(std::memory_order_relaxed);
}

}  // namespace sconce::executor
