// masked_select and masked_scatter: elements where a mask is true, in row-major order.
#include "sconce/base/error.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/indexing_kernels.h"
#include "sconce/kernels/any/views/views.h"
#include "sconce/tensor/element.h"
#include "sconce/tensor/strides.h"

namespace sconce::cpu {
namespace {

using any_device::expand;

void check_mask(const Tensor& mask, const char* op) {
  SCONCE_CHECK(mask.dtype() == DType::bool_, "{}: expected BoolTensor for mask, got {}", op, dtype_name(mask.dtype()));
}

// Masks are read as bytes: see Note [Bytes of bools].
int64_t count_true(const uint8_t* mask, int64_t n) {
  int64_t count = 0;
  for (int64_t i = 0; i < n; ++i) count += mask[i] != 0;
  return count;
}

}  // namespace

Tensor masked_select(const Tensor& self, const Tensor& mask) {
  check_mask(mask, "masked_select");
  const Dims sizes = broadcast_sizes(self.sizes(), mask.sizes());
  SCONCE_CHECK_AS(not_implemented, !self.is_meta() && !mask.is_meta(),
                  "masked_select: the result's size depends on values, which a meta tensor does not have");
  const Tensor from = contiguous_tensor(expand(self, sizes, false)),
               shown = contiguous_tensor(expand(mask, sizes, false));
  const uint8_t* m = shown.data<uint8_t>();
  const int64_t n = shown.numel();
  Tensor out = empty_tensor({count_true(m, n)}, self.dtype(), self.device());
  visit_item_size(self.dtype(), [&]<class T>() {
    const T* source = from.data<T>();
    T* to = out.data<T>();
    T* end = to + out.numel();
    for (int64_t i = 0; to != end; ++i) {
      *to = source[i];
      to += m[i] != 0;
    }
  });
  return out;
}

void masked_scatter_(const Tensor& self, const Tensor& mask, const Tensor& source) {
  check_mask(mask, "masked_scatter_");
  SCONCE_CHECK(self.dtype() == source.dtype(),
               "masked_scatter: expected self and source to have same dtypes but got {} and {}",
               dtype_legacy_name(self.dtype()), dtype_legacy_name(source.dtype()));
  check_no_internal_overlap(self);
  const Tensor wide = expand(mask, self.sizes(), false);
  if (!self.is_meta()) {
    const Tensor shown = contiguous_tensor(wide), to = contiguous_tensor(self);
    Tensor from = contiguous_tensor(source);
    if (from.storage() == self.storage()) {
      from = empty_tensor(source.sizes(), source.dtype());
      copy_tensor(from, source);
    }
    const uint8_t* m = shown.data<uint8_t>();
    const int64_t count = count_true(m, shown.numel());
    SCONCE_CHECK(count <= from.numel(),
                 "masked_scatter: expected number of elements in source ({}) to be at least the number of "
                 "ones in the mask ({})",
                 from.numel(), count);
    visit_item_size(self.dtype(), [&]<class T>() {
      const T* next = from.data<T>();
      T* target = to.data<T>();
      for (int64_t i = 0; i < shown.numel(); ++i) {
        if (m[i] != 0) target[i] = *next++;
      }
    });
    if (!to.is_same(self)) copy_tensor(self, to);
  }
  self.bump_version();
}

}  // namespace sconce::cpu
