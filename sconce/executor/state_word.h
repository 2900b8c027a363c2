// Ambient state: what results depend on beside arguments, packed for one comparison: modes of the thread (keys, grad
// mode, inference mode, autocast) and settings of the process (default dtype, threads, determinism).
#pragma once

#include <cstdint>
#include <string>

#include "sconce/base/export.h"

namespace sconce::executor {

struct AmbientState {
  uint64_t modes = 0, settings = 0;
  friend bool operator==(const AmbientState&, const AmbientState&) = default;
};

SCONCE_API AmbientState ambient_state() noexcept;
// Which of them differ: "grad_mode", "autocast_state", "default_dtype" ...; empty when none does.
SCONCE_API std::string difference(const AmbientState& expected, const AmbientState& actual);

// Changes with every change of geometry, memory or requires_grad of a tensor that existed
// (tensor/memory/geometry_changes.h).
SCONCE_API uint64_t tensor_changes() noexcept;

}  // namespace sconce::executor
