// Operators of the script language between tensors (and tensors and numbers), by their names in the table: declared
// here so that script.h needs no generated header, defined by calling aten::add, aten::mul, ...
#pragma once

#include "sconce/tensor/tensor.h"

namespace sconce::script {

#define SCONCE_SCRIPT_BINARY(name)               \
  Tensor name(const Tensor& a, const Tensor& b); \
  Tensor name(const Tensor& a, const Scalar& b); \
  Tensor name(const Scalar& a, const Tensor& b);
SCONCE_SCRIPT_BINARY(add)
SCONCE_SCRIPT_BINARY(sub)
SCONCE_SCRIPT_BINARY(mul)
SCONCE_SCRIPT_BINARY(div)
SCONCE_SCRIPT_BINARY(floordiv)
SCONCE_SCRIPT_BINARY(mod)
SCONCE_SCRIPT_BINARY(pow)
SCONCE_SCRIPT_BINARY(bit_and)
SCONCE_SCRIPT_BINARY(bit_or)
SCONCE_SCRIPT_BINARY(bit_xor)
SCONCE_SCRIPT_BINARY(eq)
SCONCE_SCRIPT_BINARY(ne)
SCONCE_SCRIPT_BINARY(lt)
SCONCE_SCRIPT_BINARY(le)
SCONCE_SCRIPT_BINARY(gt)
SCONCE_SCRIPT_BINARY(ge)
#undef SCONCE_SCRIPT_BINARY
Tensor neg(const Tensor& a);
Tensor invert(const Tensor& a);

}  // namespace sconce::script
