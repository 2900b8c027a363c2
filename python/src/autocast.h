// Mixed precision in Python: what sconce.amp builds on.
#pragma once

#include "object.h"

namespace sconce::python {

// How often the program has called clear_autocast_cache on this thread.
uint64_t autocast_clears();

void add_autocast(PyObject* module);

}  // namespace sconce::python
