// Whether a gradient may be written over, or become someone's own.
#pragma once

#include "sconce/tensor/tensor.h"

namespace sconce::autograd {

// Nobody but the holder of this handle has the tensor or its memory, nor knows it from Python or by its history.
inline bool has_sole_owner(const Tensor& t) {
  const TensorImpl& i = *t.impl();
  return i.count.unique() && i.storage->count.unique() && !i.extra && !i.autograd && !i.python && t.is_dense() &&
         !(i.meta & (TensorImpl::is_view | TensorImpl::requires_grad));
}

}  // namespace sconce::autograd
