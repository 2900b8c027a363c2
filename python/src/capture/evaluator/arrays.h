// Arrays of numpy that come later: what functions of numpy make of tensors, computed behind the graph, or in its turn where
// a tensor is made of them again. Sizes and dtypes are those that numpy gives for arrays of ones.
#pragma once

#include "object.h"

namespace sconce::python::capture {

class Evaluator;
struct Arguments;

// Is it an array, or a number of numpy?
bool is_numpy(PyObject* object);
// A callable of numpy, a method of arrays among them, that comes later; empty: it is none, or has to run now.
Owned call_numpy(Evaluator& e, PyObject* callable, const Arguments& args);
// An operator of Python where an operand is an array that comes later.
Owned operate_on_arrays(Evaluator& e, PyObject* function, PyObject* a, PyObject* b);
// array.shape, array.sum ...: empty when it has to be asked for now.
Owned array_attribute(Evaluator& e, PyObject* array, PyObject* name);
// Tensor.numpy(), as an array that comes later.
Owned array_of(Evaluator& e, PyObject* method, PyObject* fake);
// torch.from_numpy, torch.tensor of an array that comes later: a tensor of the graph.
Owned tensor_of_array(Evaluator& e, PyObject* callable, const Arguments& args);

}  // namespace sconce::python::capture
