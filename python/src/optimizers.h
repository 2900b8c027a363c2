// Optimisers and schedules in Python: what sconce.optim builds its classes on.
#pragma once

#include "object.h"

namespace sconce::python {

void add_optimizers(PyObject* module);

}  // namespace sconce::python
