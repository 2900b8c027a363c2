#include "sconce/tensor/grad_mode.h"

namespace sconce {

bool grad_enabled() noexcept { return thread_modes.exclude_grad == 0; }
void set_grad_enabled(bool enabled) noexcept { thread_modes.exclude_grad = enabled ? 0 : kGradKeys.bits(); }
bool inference_mode_enabled() noexcept { return thread_modes.inference; }

InferenceMode::InferenceMode(bool enabled)
    : exclude_(thread_modes.exclude), inference_(thread_modes.inference), grad_(grad_enabled()) {
  ThreadModes& modes = thread_modes;
  modes.inference = enabled;
  // Not only grad mode: enable_grad inside of inference mode does not record.
  modes.exclude = static_cast<uint16_t>(enabled ? exclude_ | kGradKeys.bits() : exclude_ & ~kGradKeys.bits());
  set_grad_enabled(!enabled);
}

InferenceMode::~InferenceMode() {
  thread_modes.exclude = exclude_;
  thread_modes.inference = inference_;
  set_grad_enabled(grad_);
}

}  // namespace sconce
