// Seedings: how generators of other devices notice manual_seed, which begins their streams anew, too.
#pragma once

#include <cstdint>

#include "sconce/base/export.h"

namespace sconce {

// How often manual_seed was called. A generator that has seen another number takes the default generator's seed.
SCONCE_API uint64_t seedings();

}  // namespace sconce
