// equal: one answer for two tensors, decided at the first difference.
#include <algorithm>
#include <cstring>

#include "sconce/base/error.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/rearranging_kernels.h"
#include "sconce/kernels/cpu/engine/accumulate.h"
#include "sconce/kernels/cpu/engine/sound_bools.h"
#include "sconce/tensor/element.h"

namespace sconce::cpu {

bool equal(const Tensor& self, const Tensor& other) {
  SCONCE_CHECK(self.device() == other.device(), "Cannot compare two tensors on different devices. Got: {} and {}",
               to_string(self.device()), to_string(other.device()));
  SCONCE_CHECK(self.dtype() == other.dtype(),
               "Expected object of data type {} but got data type {} for argument 'other' in call to equal",
               dtype_name(self.dtype()), dtype_name(other.dtype()));
  if (!(self.sizes() == other.sizes())) return false;
  SCONCE_CHECK_AS(not_implemented, !self.is_meta(), "a meta tensor has no values to compare");
  const Tensor a = contiguous_tensor(sound_bools(self)), b = contiguous_tensor(sound_bools(other));
  if (is_limited(self.dtype()))  // integers: their bytes
    return self.numel() == 0 || std::memcmp(a.data(), b.data(), static_cast<size_t>(a.numel()) * a.item_size()) == 0;
  return visit_dtype(self.dtype(), [&]<class T>() {
    const T* x = a.data<T>();
    const T* y = b.data<T>();
    return std::equal(x, x + a.numel(), y, [](T p, T q) { return widened(p) == widened(q); });
  });
}

}  // namespace sconce::cpu
