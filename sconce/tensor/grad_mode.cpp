#include "sconce/tensor/grad_mode.h"

namespace sconce {
namespace {

thread_local constinit bool enabled_here = true;

}  // namespace

bool grad_enabled() noexcept { return enabled_here; }
void set_grad_enabled(bool enabled) noexcept { enabled_here = enabled; }

}  // namespace sconce
