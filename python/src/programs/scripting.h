// Scripting: functions, classes and modules of Python as texts, with what their names mean (jit/_sources.py asks Python),
// given to the compiler.
#pragma once

#include "object.h"
#include "sconce/api/jit.h"

namespace sconce::python {

void add_scripting(PyObject* module);

// The type of a class of Python that programs know (script classes, enums, named tuples); null when it is none.
TypePtr type_of_class(PyObject* cls);
// The class of Python that a type was made from; null when it was made otherwise.
PyObject* class_of_type(TypePtr type);
// What all scripts of Python belong to.
jit::UnitPtr scripted_unit();

}  // namespace sconce::python
