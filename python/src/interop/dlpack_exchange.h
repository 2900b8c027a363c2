// DLPack: tensors that libraries hand to each other without copies, through capsules (__dlpack__) and through the table
// of C functions on the type (__dlpack_c_exchange_api__).
#pragma once

#include "interop/dlpack.h"
#include "object.h"
#include "sconce/tensor/tensor.h"

namespace sconce::python {

// Throw Error (buffer error as type) for what DLPack, or Sconce, does not know.
DType dtype_of(const dlpack::DataType& type);
dlpack::DataType data_type_of(DType dtype);

// A tensor that another library may hold; it has to call the deleter. Throws PythonError (BufferError) for tensors that
// require grad, are sparse, or are on another device than the CPU.
dlpack::ManagedTensor* export_tensor(const Tensor& tensor);
// A tensor over the memory of another library, which is given back when the last tensor over it is gone, or at once
// when this throws.
Tensor import_tensor(dlpack::ManagedTensor* managed);

PyObject* dlpack_method(PyObject* self, PyObject* args, PyObject* kwargs);  // Tensor.__dlpack__
PyObject* dlpack_device_method(PyObject* self, PyObject*);                  // Tensor.__dlpack_device__

// Needs the type of tensors.
void add_dlpack(PyObject* module);

}  // namespace sconce::python
