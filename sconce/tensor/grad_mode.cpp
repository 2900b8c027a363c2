#include "sconce/tensor/grad_mode.h"

namespace sconce {

bool grad_enabled() noexcept { return thread_modes.exclude_grad == 0; }
void set_grad_enabled(bool enabled) noexcept { thread_modes.exclude_grad = enabled ? 0 : kGradKeys.bits(); }
bool inference_mode_enabled() noexcept { return thread_modes.inference; }

InferenceMode::InferenceMode(bool enabled) : inference_(thread_modes.inference), grad_(grad_enabled()) {
  thread_modes.inference = enabled;
  set_grad_enabled(!enabled);
}

InferenceMode::~InferenceMode() {
  thread_modes.inference = inference_;
  set_grad_enabled(grad_);
}

}  // namespace sconce
