// Autograd in Python: nodes of the backward graph, hooks, custom functions, hooks for saved tensors, anomaly mode.
#pragma once

#include "object.h"
#include "sconce/autograd/graph/node.h"

namespace sconce::python {

// The object of a node, one to one while Python has it; None for none.
Owned wrap_node(const Ref<autograd::Node>& node);

// Tensor.register_hook and Tensor.register_post_accumulate_grad_hook.
PyObject* register_tensor_hook(PyObject* tensor, PyObject* hook);
PyObject* register_post_accumulate_hook(PyObject* tensor, PyObject* hook);

void add_autograd(PyObject* module);

}  // namespace sconce::python
