// Mixed precision in Python: what sconce.amp builds on.
#pragma once

#include "object.h"

namespace sconce::python {

void add_autocast(PyObject* module);

}  // namespace sconce::python
