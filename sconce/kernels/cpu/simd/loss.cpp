// Kernels of losses: log-sum-exp of a row in one pass over memory.
#include "sconce/kernels/cpu/loss/loss_kernels.h"

#include "sconce/kernels/cpu/simd/row_vectors.h"

namespace sconce::SCONCE_ISA_NAMESPACE {
namespace {

template <class V>
double sum(const void* in, int64_t n) {
  using T = typename Lane<V>::T;
  const T* x = static_cast<const T*>(in);
  return sum_over<V>(n,
                     [&](int64_t i, int64_t part) __attribute__((always_inline)) { return load_some<V>(x + i, part); });
}

// Block by block, so that the exponentials find their block in the first-level cache. A sum so far is rescaled when a
// block has a larger element. Blocks of -inf alone add 0 (and NaN where they have one).
template <class V>
void exp_sum(const void* row, int64_t n, double* top_out, double* total_out) {
  using T = typename Lane<V>::T;
  const T* x = static_cast<const T*>(row);
  double top = -__builtin_inf(), total = 0;
  for (int64_t block = 0; block < n; block += kLeafElements) {
    const int64_t count = n - block < kLeafElements ? n - block : kLeafElements;
    const T* in = x + block;
    const double here = static_cast<double>(largest<V>(in, count));
    if (here > top) {
      const V shift = exp(splat<V>(static_cast<T>(top - here)));
      total = top == -__builtin_inf() ? total : total * static_cast<double>(shift[0]);
      top = here;
    }
    const V level = splat<V>(top == -__builtin_inf() ? T(0) : static_cast<T>(top));
    total += sum_over<V>(count, [&](int64_t i, int64_t part)
                                    __attribute__((always_inline)) { return exp(load_some<V>(in + i, part) - level); });
  }
  *top_out = top;
  *total_out = total;
}

template <class V>
void scaled_exp(void* out, const void* row, int64_t n, double level, double scale) {
  using T = typename Lane<V>::T;
  const T* x = static_cast<const T*>(row);
  T* y = static_cast<T*>(out);
  const V shift = splat<V>(static_cast<T>(level)), times = splat<V>(static_cast<T>(scale));
  int64_t i = 0;
  for (; i + lanes<V> <= n; i += lanes<V>) store(y + i, exp(load<V>(x + i) - shift) * times);
  if (i < n) store_part(y + i, exp(load_part<V>(x + i, n - i, V{}) - shift) * times, n - i);
}

}  // namespace

extern const LossKernels loss_kernels = {
    {sum<F32>, sum<F64>}, {exp_sum<F32>, exp_sum<F64>}, {scaled_exp<F32>, scaled_exp<F64>}};

}  // namespace sconce::SCONCE_ISA_NAMESPACE
