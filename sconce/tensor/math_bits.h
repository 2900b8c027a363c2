// Math bits: lazy conjugates and negatives, views that share memory with numbers of another sign.
//
// Note [Math bits]
// conj() of a complex tensor is a view with the bit `conjugate`: its elements are the conjugates of the numbers in
// memory. `negative` is the same for negatives; imag of a conjugate view has it. Both bits commute, and both together
// are possible. A tensor with a bit carries Key::math_bits, so other tensors pay nothing.
//
// The dispatcher calls an operator below the key as it is if the operator takes the bits (OpInfo::formats): views,
// queries, copies, and bodies, which leave the decision to the operators that they call. opgen derives this from the
// entry. For every other operator the kernel of the key (dispatch/math_bits.cpp) clones such arguments to plain tensors
// first, and copies those that the operator has written back. So a kernel never sees a bit unless its entry takes it.
//
// Below the operators, copy_tensor, host_copy and item_of know the bits; Tensor::data() is the memory without them.
#pragma once

#include "sconce/tensor/tensor.h"

namespace sconce {

inline constexpr uint64_t kMathBits =
    TensorImpl::conjugate | TensorImpl::negative | uint64_t{KeySet(Key::math_bits).bits()};

inline bool has_math_bits(const Tensor& t) { return t.keys().has(Key::math_bits); }
inline bool has_conj_bit(const Tensor& t) { return t.impl()->meta & TensorImpl::conjugate; }
inline bool has_neg_bit(const Tensor& t) { return t.impl()->meta & TensorImpl::negative; }
inline bool same_math_bits(const Tensor& a, const Tensor& b) {
  return ((a.impl()->meta ^ b.impl()->meta) & (TensorImpl::conjugate | TensorImpl::negative)) == 0;
}

// Sets both bits of a tensor and its key. The dispatcher gets ready for the key.
SCONCE_API void set_math_bits(TensorImpl& t, bool conjugate, bool negative);
// Gives `t` the bits of another tensor over the same memory. A real tensor takes no conjugate bit.
inline void take_math_bits(TensorImpl& t, const TensorImpl& from) {
  t.meta = (t.meta & ~kMathBits) | (from.meta & kMathBits);
}

// The memory as it is: a shallow copy without bits.
SCONCE_API Tensor without_math_bits(const Tensor& t);

// Computes the elements of a tensor with bits into a new tensor without them. Null in small libraries, which have no
// such tensors (Note [Connections]).
using ResolveMathBits = Tensor (*)(const Tensor& t);
extern const ResolveMathBits resolve_math_bits;
// The tensor itself if it has no bits.
SCONCE_API Tensor resolved_math_bits(const Tensor& t);

}  // namespace sconce
