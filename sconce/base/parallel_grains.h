// Grains for tests: parallel_for shares out even the smallest loops, so that tests with small tensors see what several
// threads do.
#pragma once

#include "sconce/base/export.h"

namespace sconce {

// While true, parallel_for takes every grain for 1. For the whole process; off when it starts.
SCONCE_API void ignore_grains(bool ignore) noexcept;

}  // namespace sconce
