// PyTorch's tensors in and out, through the functions that its Tensor type offers (dlpack.h): memory is shared, and
// nothing of PyTorch is linked.
#pragma once

#include "object.h"

namespace sconce::python {

void add_torch_bridge(PyObject* module);

}  // namespace sconce::python
