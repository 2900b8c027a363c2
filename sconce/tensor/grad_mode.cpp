#include "sconce/tensor/grad_mode.h"

namespace sconce {

bool grad_enabled() noexcept { return thread_modes.exclude_grad == 0; }
void set_grad_enabled(bool enabled) noexcept { thread_modes.exclude_grad = enabled ? 0 : kGradKeys.bits(); }
bool inference_mode_enabled() noexcept { return thread_modes.inference; }

// Bit 0: inference mode; bit 1: gradients are recorded; bit 2 on: the keys of gradients that are excluded.
uint64_t inference_mode_state() noexcept {
  const ThreadModes& modes = thread_modes;
  return static_cast<uint64_t>(modes.inference) | static_cast<uint64_t>(grad_enabled()) << 1 |
         static_cast<uint64_t>(modes.exclude & kGradKeys.bits()) << 2;
}

void set_inference_mode(bool enabled) noexcept {
  // Not only grad mode: enable_grad inside of inference mode does not record.
  restore_inference_mode(enabled ? 1 | static_cast<uint64_t>(kGradKeys.bits()) << 2 : 2);
}

void restore_inference_mode(uint64_t state) noexcept {
  ThreadModes& modes = thread_modes;
  modes.inference = state & 1;
  modes.exclude = static_cast<uint16_t>((modes.exclude & ~kGradKeys.bits()) | (state >> 2 & kGradKeys.bits()));
  set_grad_enabled(state & 2);
}

}  // namespace sconce
