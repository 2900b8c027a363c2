// Expressions as programs: the scalar expression of a pointwise operator (Note [Steps] in dispatch/entry.h) written out
// as calls of Core ATen operators on whole tensors.
//
//   silu, "self / (1 + exp(-self))"   =>   d = self.dtype
//                                          c = 6 if d == 5 or d == 15 else d      # 16-bit floats compute in float32
//                                          x0 = self if self.dtype == c else _to_copy(self, dtype=c)
//                                          t2 = exp(-x0)
//                                          ...
//                                          return t4 if t4.dtype == d else _to_copy(t4, dtype=d)
//
// The dtypes are those that the operator's loop computes in. What differs is rounding: an operator that is one loop
// rounds its result alone, and fma(a, b, c) is a product and a sum here.
#pragma once

#include <optional>
#include <string>

#include "sconce/dispatch/op.h"

namespace sconce::lowering {

// A body over the operator's arguments. Nothing for operators that are not pointwise, or whose expression has a
// function that is not in Core ATen.
std::optional<std::string> expression_text(const Op& op);

}  // namespace sconce::lowering
