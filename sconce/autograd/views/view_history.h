// View history: the grad_fn of a view is made anew if its base, or another view of it, was written since.
#pragma once

#include "sconce/autograd/graph/node.h"
#include "sconce/tensor/view_base.h"

namespace sconce::autograd {

// grad_fn() of a view with a base.
Ref<Node> view_grad_fn(const Tensor& view, TensorImpl& base);
// The same, with its output, for the caller alone: a history that is made anew is not given to the view. A view that
// was saved for the backward of a write to its own base would own itself through it.
Edge view_edge(const Tensor& view, TensorImpl& base);

// The history of a tensor that lies at the place of `view`, as a view of `base`. Neither needs data.
Edge edge_between(const Tensor& view, const Tensor& base);

// The signs by which the elements of a view differ from those of its base at the same place (Note [Math bits]).
struct SignChange {
  bool conjugate, negative;
};
struct SignsOf {
  DType dtype;
  bool conjugate, negative;
};
// `strides` and `offset` are the view's, in its elements. Throws Error where a view of a tensor with the conjugate bit
// mixes real and imaginary parts.
SignChange sign_change(const SignsOf& base, const SignsOf& view, IntList sizes, IntList strides, int64_t offset);
SignsOf signs_of(const Tensor& t);

// Throws if the view is of a kind that must not be written while gradients are recorded (see ViewOrigin). `indirect`
// says that its base or another view was written, and not the view itself.
void check_view_write(const Tensor& view, bool indirect);

// Views that were taken before their base got a history carry no key for autograd, only Key::view, which has no kernels
// until the first time that such a view may exist: from then on, calls with any view are looked at.
void watch_views();

}  // namespace sconce::autograd
