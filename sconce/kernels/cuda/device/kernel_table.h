// The kernels of this process; see find_kernel in launch.h.
#pragma once

namespace sconce::cuda {

// Forgets all kernels without unloading them: for replace_driver().
void forget_kernels();
// Changes when they are forgotten: who keeps references to kernels compares it.
const void* kernels_mark();

}  // namespace sconce::cuda
