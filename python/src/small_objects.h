// Objects for the small enumerations of the library: dtype, layout, memory_format, and device.
#pragma once

#include "object.h"
#include "sconce/tensor/device.h"
#include "sconce/tensor/dtype.h"

namespace sconce::python {

// One object for each value, so that `is` works: sconce.float32.
PyObject* dtype_object(DType t);  // borrowed
PyObject* layout_object(Layout l);
PyObject* memory_format_object(MemoryFormat f);
bool is_dtype(PyObject* object);
bool is_layout(PyObject* object);
bool is_memory_format(PyObject* object);
int64_t number_of(PyObject* enumerator);  // of any of these three

bool is_device(PyObject* object);
Device device_of(PyObject* object);
Owned make_device(Device d);

// Adds the types and their values to the module.
void add_small_objects(PyObject* module);

}  // namespace sconce::python
