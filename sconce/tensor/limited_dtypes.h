// Dispatch key of limited dtypes: how their tensors make themselves known. Note [Limited dtypes] in dtype.h.
#pragma once

#include "sconce/tensor/dtype.h"
#include "sconce/tensor/key_set.h"

namespace sconce {

// The key that a tensor has for its dtype alone.
constexpr KeySet dtype_keys(DType t) {
  return is_limited(t) ? KeySet(Key::limited) : is_quantized(t) ? KeySet(Key::quantized) : KeySet();
}

// Called before a tensor of a limited dtype is made: the dispatcher gets ready for its key (Note [Connections]). Null
// where it is ready; throws Error where there are no such tensors, in small libraries without them.
using LimitedTensorMade = void (*)(DType dtype);
extern const LimitedTensorMade limited_tensor_made;
// The same for tensors with Key::sparse or Key::quantized.
using FormatUsed = void (*)(Key format);
extern const FormatUsed format_used;

}  // namespace sconce
