#include "sconce/dispatch/script_tensors.h"

#include "sconce/generated/arithmetic.h"
#include "sconce/generated/comparison.h"
#include "sconce/generated/math.h"

namespace sconce::script {

#define SCONCE_SCRIPT_BINARY(name, op, swapped)                              \
  Tensor name(const Tensor& a, const Tensor& b) { return sconce::op(a, b); } \
  Tensor name(const Tensor& a, const Scalar& b) { return sconce::op(a, b); } \
  Tensor name(const Scalar& a, const Tensor& b) { return sconce::swapped; }
SCONCE_SCRIPT_BINARY(add, add, add(b, a))
SCONCE_SCRIPT_BINARY(sub, sub, rsub(b, a))
SCONCE_SCRIPT_BINARY(mul, mul, mul(b, a))
SCONCE_SCRIPT_BINARY(div, div, mul(reciprocal(b), a))
SCONCE_SCRIPT_BINARY(floordiv, floor_divide, floor_divide(wrapped_number(a), b))
SCONCE_SCRIPT_BINARY(mod, remainder, remainder(a, b))
SCONCE_SCRIPT_BINARY(pow, pow, pow(a, b))
SCONCE_SCRIPT_BINARY(bit_and, __and__, __and__(b, a))
SCONCE_SCRIPT_BINARY(bit_or, __or__, __or__(b, a))
SCONCE_SCRIPT_BINARY(bit_xor, __xor__, __xor__(b, a))
SCONCE_SCRIPT_BINARY(eq, eq, eq(b, a))
SCONCE_SCRIPT_BINARY(ne, ne, ne(b, a))
SCONCE_SCRIPT_BINARY(lt, lt, gt(b, a))
SCONCE_SCRIPT_BINARY(le, le, ge(b, a))
SCONCE_SCRIPT_BINARY(gt, gt, lt(b, a))
SCONCE_SCRIPT_BINARY(ge, ge, le(b, a))
#undef SCONCE_SCRIPT_BINARY

Tensor neg(const Tensor& a) { return sconce::neg(a); }
Tensor invert(const Tensor& a) { return sconce::bitwise_not(a); }

}  // namespace sconce::script
