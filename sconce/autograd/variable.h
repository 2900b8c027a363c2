// Variables: the autograd side of a tensor, in PyTorch's words. All functions take defined tensors.
#pragma once

#include <functional>

#include "sconce/autograd/graph/node.h"

namespace sconce::autograd {

// requires_grad_(): throws for integers ("only Tensors of floating point dtype can require gradients"), for inference
// tensors outside of inference mode, and for turning it off if the tensor is not a leaf.
SCONCE_API void set_requires_grad(const Tensor& t, bool on);
// A tensor that was just made (a parameter that was loaded or copied) requires grad, if its dtype has derivatives. Its
// memory may be that of other tensors, which have no part in it.
SCONCE_API void make_leaf(const Tensor& t);
// Was made by the user, or does not require grad.
SCONCE_API bool is_leaf(const Tensor& t);
// The node that made it; null for leaves. For a view whose base was written since, the history is made anew.
SCONCE_API Ref<Node> grad_fn(const Tensor& t);
SCONCE_API uint32_t output_number(const Tensor& t);

// The accumulated gradient of a leaf (or of a tensor with retain_grad); undefined if there is none.
SCONCE_API Tensor grad(const Tensor& t);
// Undefined clears it. Throws if shape, dtype or device do not fit.
SCONCE_API void set_grad(const Tensor& t, Tensor grad);
SCONCE_API void retain_grad(const Tensor& t);
SCONCE_API bool retains_grad(const Tensor& t);

// Where the gradient of t goes: (grad_fn, output number), or the accumulator of a leaf that requires grad; nothing if
// it does not require grad.
SCONCE_API Edge gradient_edge(const Tensor& t);

// Makes t, which has no history, output `slot` of node: it requires grad from now on.
SCONCE_API void set_history(const Tensor& t, Ref<Node> node, uint32_t slot);
// After an in-place operation on t: its history is output `slot` of node. If t is a view, its base's history gets a
// CopySlices node around node (which has no other output then), and all views of the base see it. `self` is the edge of
// node that leads to the former history of t; kNoEdge (copy_slices.h) if there is none.
SCONCE_API void rebase_history(const Tensor& t, Ref<Node> node, uint32_t slot = 0, uint32_t self = 0);
// Throws if t must not be written in place by an operation that is recorded (`recorded`: some argument requires grad
// and grad mode is on): leaves that require grad, views of them, views made under no_grad or by split.
SCONCE_API void check_inplace(const Tensor& t, bool recorded);

// The name of grad_fn, empty for leaves; "Invalid" for a view that must not be used since its base was written.
std::string name_of_history(const Tensor& t);

// detach_(): without history, in place. Throws for views.
SCONCE_API void detach_in_place(const Tensor& t);

}  // namespace sconce::autograd
