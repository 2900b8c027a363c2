// Operators of the script language between tensors (and tensors and numbers), one function for each of
// base/operators.def: declared here so that script.h needs no generated header, defined by calling aten::add, ...
#pragma once

#include "sconce/tensor/tensor.h"

namespace sconce::script {

#define SCONCE_TENSOR_BINARY(name, text, stem, op, eager, augmented, in_place, reversed) \
  Tensor name(const Tensor& a, const Tensor& b);                                         \
  Tensor name(const Tensor& a, const Scalar& b);                                         \
  Tensor name(const Scalar& a, const Tensor& b);
#define SCONCE_TENSOR_UNARY(name, text, stem, op, eager) Tensor name(const Tensor& a);
#include "sconce/base/operators.def"

}  // namespace sconce::script
