// Grad mode: whether the current thread records operations for gradients (on when a thread starts), and whether it
// makes inference tensors. The guards are the C++ of torch.no_grad(), torch.enable_grad() and torch.inference_mode().
#pragma once

#include "sconce/base/export.h"
#include "sconce/tensor/key_set.h"

namespace sconce {

inline constexpr KeySet kGradKeys{Key::view, Key::autograd};

SCONCE_API bool grad_enabled() noexcept;
SCONCE_API void set_grad_enabled(bool enabled) noexcept;
SCONCE_API bool inference_mode_enabled() noexcept;

// The modes that inference mode changes, as one number, for those who cannot keep a guard: scripts.
SCONCE_API uint64_t inference_mode_state() noexcept;
SCONCE_API void set_inference_mode(bool enabled) noexcept;
SCONCE_API void restore_inference_mode(uint64_t state) noexcept;

// Sets the mode for a scope.
class SCONCE_API GradMode {
 public:
  explicit GradMode(bool enabled) : before_(grad_enabled()) { set_grad_enabled(enabled); }
  ~GradMode() { set_grad_enabled(before_); }
  GradMode(const GradMode&) = delete;
  GradMode& operator=(const GradMode&) = delete;

 private:
  bool before_;
};

class NoGrad : public GradMode {
 public:
  NoGrad() : GradMode(false) {}
};

class EnableGrad : public GradMode {
 public:
  EnableGrad() : GradMode(true) {}
};

// No recording, and tensors made inside have neither version nor history, for good: they cannot take part in autograd
// later. EnableGrad inside changes nothing; InferenceMode(false) is the way back.
class SCONCE_API InferenceMode {
 public:
  explicit InferenceMode(bool enabled = true) : before_(inference_mode_state()) { set_inference_mode(enabled); }
  ~InferenceMode() { restore_inference_mode(before_); }
  InferenceMode(const InferenceMode&) = delete;
  InferenceMode& operator=(const InferenceMode&) = delete;

 private:
  uint64_t before_;
};

}  // namespace sconce
