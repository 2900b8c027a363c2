// Room for repeated lists: memory whose size a program decides is taken at once, or refused.
#pragma once

#include "sconce/types/value.h"

namespace sconce::boxed {

// Room in `list` for `times` copies of n items. Throws Error when there is no memory for them, or no more of it for a
// file that is being loaded.
void make_room(List& list, size_t n, int64_t times);

}  // namespace sconce::boxed
