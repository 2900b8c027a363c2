// Unchecked views: make_view without the bounds check, for views that lie inside of their base by construction.
#pragma once

#include "sconce/tensor/tensor.h"

namespace sconce {

Tensor make_view_unchecked(const Tensor& base, IntList sizes, IntList strides, int64_t offset);
// A contiguous base with other sizes, of which the product is the same.
Tensor make_contiguous_view(const Tensor& base, IntList sizes);

}  // namespace sconce
