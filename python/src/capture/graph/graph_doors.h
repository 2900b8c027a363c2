// Doors for tests of graphs: functions run natively over fakes.
#pragma once

#include "object.h"

namespace sconce::python::capture {

void add_graph_doors(PyObject* module);

}  // namespace sconce::python::capture
