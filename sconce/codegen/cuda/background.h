// Background compiler: a pool of threads that make kernels while programs go on.
#pragma once

#include <functional>

namespace sconce::cuda {

// Runs the job on one of as many threads as the machine has cores, at most 16. It must not throw. Jobs that have not
// begun when the process ends are dropped; those that run are waited for.
void in_background(std::function<void()> job);

}  // namespace sconce::cuda
