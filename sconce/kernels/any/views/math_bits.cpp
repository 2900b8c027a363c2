// Conjugate and negative views: Note [Math bits] in tensor/math_bits.h.
#include "sconce/tensor/math_bits.h"
#include "sconce/base/error.h"
#include "sconce/generated/arithmetic.h"
#include "sconce/generated/view.h"
#include "sconce/generated/view_kernels.h"
#include "sconce/kernels/any/views/views.h"
#include "sconce/tensor/grad_mode.h"
#include "sconce/tensor/sparse/sparse_parts.h"

namespace sconce::any_device {

Tensor with_math_bits_applied(const Tensor& t) {
  const ModeGuard unseen({},
                         KeySet{Key::python, Key::functionalize, Key::autocast, Key::tracer, Key::observe} | kGradKeys);
  Tensor out = without_math_bits(t);
  if (has_conj_bit(t) && is_complex(t.dtype())) out = sconce::_conj_physical(out);
  if (has_neg_bit(t)) {
    SCONCE_CHECK_AS(not_implemented, t.dtype() != DType::bool_, "\"neg_cpu\" not implemented for 'Bool'");
    out = sconce::neg(out);
  }
  return out;
}

Tensor _conj(const Tensor& self) {
  SCONCE_CHECK(is_complex(self.dtype()), "_conj() expects a complex tensor, got {}", dtype_name(self.dtype()));
  // Sparse tensors are new ones, and so are all in a small library.
  if (is_sparse_tensor(self) || !resolve_math_bits) return sconce::_conj_physical(self);
  Tensor view = any_device::alias(self);
  set_math_bits(*view.impl(), !has_conj_bit(self), has_neg_bit(self));
  return view;
}

Tensor _neg_view(const Tensor& self) {
  if (!resolve_math_bits) return sconce::neg(self);
  Tensor view = any_device::alias(self);
  set_math_bits(*view.impl(), has_conj_bit(self), !has_neg_bit(self));
  return view;
}

}  // namespace sconce::any_device
