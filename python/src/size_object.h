// sconce.Size: a tuple of integers that prints as PyTorch's does.
#pragma once

#include "object.h"
#include "sconce/base/list_ref.h"

namespace sconce::python {

Owned make_size(IntList sizes);
// Of the items of a tuple, as they are: while tracing, sizes are tensors.
Owned make_size_of(PyObject* tuple);
bool is_size(PyObject* object);

void add_size_type(PyObject* module);

}  // namespace sconce::python
