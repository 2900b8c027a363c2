// sconce.Generator: a stream of random numbers.
#pragma once

#include "object.h"
#include "sconce/tensor/generator.h"

namespace sconce::python {

bool is_generator(PyObject* object);
Generator generator_of(PyObject* object);
// sconce.default_generator for the default one.
Owned wrap_generator(const Generator& generator);

void add_generator(PyObject* module);

}  // namespace sconce::python
