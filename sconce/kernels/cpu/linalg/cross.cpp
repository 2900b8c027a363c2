// The cross product of vectors of three elements along a dimension.
#include "sconce/base/parallel.h"
#include "sconce/generated/linalg_kernels.h"
#include "sconce/kernels/cpu/engine/accumulate.h"
#include "sconce/tensor/element.h"
#include "sconce/tensor/strides.h"
#include "sconce/tensor/tensor.h"

namespace sconce::cpu {
namespace {

// a * b - c * d. Integers wrap; halves round every product, as PyTorch does.
template <class T>
T difference(T a, T b, T c, T d) {
  if constexpr (kIsHalf<T>) {
    const auto product = [](T x, T y) { return widened(multiply_elements(x, y)); };
    return narrowed<T>(product(a, b) - product(c, d));
  } else if constexpr (std::is_integral_v<T>) {
    using U = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
    return static_cast<T>(static_cast<U>(a) * static_cast<U>(b) - static_cast<U>(c) * static_cast<U>(d));
  } else {
    return a * b - c * d;
  }
}

template <class T>
void cross(const T* a, int64_t sa, const T* b, int64_t sb, T* out, int64_t so) {
  const T a0 = a[0], a1 = a[sa], a2 = a[2 * sa], b0 = b[0], b1 = b[sb], b2 = b[2 * sb];
  out[0] = difference(a1, b2, a2, b1);
  out[so] = difference(a2, b0, a0, b2);
  out[2 * so] = difference(a0, b1, a1, b0);
}

}  // namespace

void linalg_cross(const Tensor& self, const Tensor& other, int64_t dim, const Tensor& out) {
  if (out.numel() == 0) return;
  const auto along = static_cast<size_t>(wrap_dim(dim, out.dim()));
  Dims a = expanded_strides(self.sizes(), self.strides(), out.sizes());
  Dims b = expanded_strides(other.sizes(), other.strides(), out.sizes());
  Dims o(out.strides()), sizes(out.sizes());
  const int64_t sa = a[along], sb = b[along], so = o[along];
  for (Dims* list : {&a, &b, &o, &sizes}) list->erase(along);
  visit_dtype(out.dtype(), [&]<class T>() {
    if constexpr (std::is_same_v<T, bool>) {
      fail_as(ErrorKind::not_implemented, "\"cross\" not implemented for 'Bool'");
    } else {
      // The last of the other dimensions is the inner loop.
      const size_t outer = sizes.empty() ? 0 : sizes.size() - 1;
      const int64_t run = sizes.empty() ? 1 : sizes.back();
      const int64_t step_a = sizes.empty() ? 0 : a.back(), step_b = sizes.empty() ? 0 : b.back(),
                    step_o = sizes.empty() ? 0 : o.back();
      parallel_for(out.numel() / 3, 16384, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end;) {
          int64_t at_a = 0, at_b = 0, at_o = 0, left = i / run;
          for (size_t d = outer; d-- > 0;) {
            const int64_t index = left % sizes[d];
            left /= sizes[d];
            at_a += index * a[d];
            at_b += index * b[d];
            at_o += index * o[d];
          }
          const int64_t first = i % run, last = std::min(run, first + end - i);
          const T *from_a = self.data<T>() + at_a, *from_b = other.data<T>() + at_b;
          T* to = out.data<T>() + at_o;
          for (int64_t k = first; k < last; ++k) {
            cross(from_a + k * step_a, sa, from_b + k * step_b, sb, to + k * step_o, so);
          }
          i += last - first;
        }
      });
    }
  });
}

}  // namespace sconce::cpu
