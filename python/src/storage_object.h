// sconce.UntypedStorage: the bytes behind tensors, one object for each storage.
#pragma once

#include "object.h"
#include "sconce/tensor/storage.h"

namespace sconce::python {

Owned wrap_storage(Ref<Storage> storage);

void add_storage(PyObject* module);

}  // namespace sconce::python
