// Tensors from data of Python: nested lists, numbers, buffers (arrays of numpy among them).
#pragma once

#include <optional>

#include "object.h"
#include "sconce/tensor/tensor.h"

namespace sconce::python {

// sconce.tensor(data, dtype): a copy. The dtype follows the data as in PyTorch: bool, int64, the default float dtype, or
// the complex one that goes with it. Throws Error (value) when the lists have different lengths.
Tensor tensor_of_data(PyObject* data, std::optional<DType> dtype);

// A list, another sequence or an array as an index: bools and bytes stay masks, other numbers become int64.
Tensor index_of_data(PyObject* data);

// A tensor over the memory of an object with the buffer protocol, which lives as long. Throws Error for dtypes that a
// tensor cannot have, and for negative strides.
// frombuffer(): over memory with the buffer protocol, `count` elements (all, if negative) from `offset` bytes on.
Tensor tensor_of_memory(PyObject* object, DType dtype, int64_t count, int64_t offset);
Tensor tensor_of_buffer(PyObject* object, bool warn_if_readonly);

}  // namespace sconce::python
