#include "sconce/dispatch/script_tensors.h"

#include "sconce/generated/arithmetic.h"
#include "sconce/generated/comparison.h"
#include "sconce/generated/math.h"

namespace sconce::script {

#define SCONCE_TENSOR_BINARY(name, text, stem, op, eager, augmented, in_place, reversed) \
  Tensor name(const Tensor& a, const Tensor& b) { return sconce::eager(a, b); }          \
  Tensor name(const Tensor& a, const Scalar& b) { return sconce::eager(a, b); }          \
  Tensor name(const Scalar& a, const Tensor& b) { return sconce::reversed; }
#define SCONCE_TENSOR_UNARY(name, text, stem, op, eager) \
  Tensor name(const Tensor& a) { return sconce::eager(a); }
#include "sconce/base/operators.def"

}  // namespace sconce::script
