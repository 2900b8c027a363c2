// Whether the current thread records operations for gradients. On when a thread starts.
#pragma once

#include "sconce/base/export.h"

namespace sconce {

SCONCE_API bool grad_enabled() noexcept;
SCONCE_API void set_grad_enabled(bool enabled) noexcept;

}  // namespace sconce
