// sconce.Tensor: the Python object that stands for a tensor, one to one.
//
// Note [Tensors in Python]
// A wrapper owns its tensor, and TensorImpl::python leads back to the wrapper, so that one tensor is one object: `is`
// works and attributes survive. A wrapper with attributes, a subclass or weak references that Python lets go of while
// C++ still has the tensor changes sides: the tensor owns it (python_owner.h) until Python sees it again.
#pragma once

#include "object.h"
#include "sconce/tensor/tensor.h"

namespace sconce::python {

struct TensorObject {
  PyObject_HEAD TensorImpl* impl;  // laid out like a Tensor; owned unless the tensor owns this object
  PyObject* dict;
  PyObject* weak_references;
};

extern PyTypeObject tensor_type;

inline bool is_tensor(PyObject* object) {
  return Py_IS_TYPE(object, &tensor_type) || PyType_IsSubtype(Py_TYPE(object), &tensor_type);
}
inline const Tensor& tensor_of(PyObject* object) {
  return reinterpret_cast<const Tensor&>(reinterpret_cast<TensorObject*>(object)->impl);
}
// The object of a tensor; None for an undefined one.
Owned wrap(Tensor tensor);
// A new object of a subclass (Parameter) for a tensor that has none yet. Throws Error when it has one.
Owned wrap_as(PyTypeObject* type, Tensor tensor);

// Adds the type, with methods of all operators, to the module.
void add_tensor_type(PyObject* module);

// The slots that other files fill in before the type is made.
extern PyNumberMethods tensor_numbers;                         // arithmetic.cpp
extern PySequenceMethods tensor_sequence;                      // indexing.cpp
extern PyMappingMethods tensor_mapping;                        // indexing.cpp
extern PyBufferProcs tensor_buffer;                            // interop.cpp
extern PyGetSetDef tensor_properties[];                        // properties.cpp
extern PyMethodDef tensor_methods[];                           // properties.cpp
PyObject* compare_tensors(PyObject* a, PyObject* b, int how);  // arithmetic.cpp

}  // namespace sconce::python
