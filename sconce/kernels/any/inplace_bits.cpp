// Python's &=, |=, ^=, <<= and >>= on tensors: the in-place forms of the operators on bits.
#include "sconce/generated/comparison.h"
#include "sconce/generated/integer_kernels.h"

namespace sconce::any_device {

#define SCONCE_INPLACE(name, function)                                                          \
  void __i##name##___Tensor(const Tensor& self, const Tensor& other) { function(self, other); } \
  void __i##name##___Scalar(const Tensor& self, const Scalar& other) { function(self, other); }
SCONCE_INPLACE(and, bitwise_and_)
SCONCE_INPLACE(or, bitwise_or_)
SCONCE_INPLACE(xor, bitwise_xor_)
SCONCE_INPLACE(lshift, bitwise_left_shift_)
SCONCE_INPLACE(rshift, bitwise_right_shift_)
#undef SCONCE_INPLACE

}  // namespace sconce::any_device
