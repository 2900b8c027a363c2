// Ownership test: whether a gradient may be written over, or taken over.
#pragma once

#include "sconce/tensor/tensor.h"

namespace sconce::autograd {

// The handle is the only owner of the tensor and of its memory, and no Python object or history refers to it.
inline bool has_sole_owner(const Tensor& t) {
  const TensorImpl& i = *t.impl();
  return i.count.unique() && i.storage->count.unique() && !i.extra && !i.autograd && !i.python && t.is_dense() &&
         !(i.meta & (TensorImpl::is_view | TensorImpl::requires_grad | KeySet(Key::math_bits).bits()));
}

}  // namespace sconce::autograd
