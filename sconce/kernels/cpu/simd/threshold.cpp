// Threshold scans in blocks of 64 elements: one test a block, because a branch for each vector would cost as much
// as the comparison.
#include "sconce/kernels/cpu/engine/threshold_kernels.h"
#include "sconce/kernels/cpu/simd/vec.h"

namespace sconce::SCONCE_ISA_NAMESPACE {
namespace {

template <class V, bool above>
int64_t next(const void* data, int64_t from, int64_t n, const void* threshold) {
  using T = typename Lane<V>::T;
  constexpr int vectors = 64 / lanes<V>;
  const T* x = static_cast<const T*>(data);
  const T limit = *static_cast<const T*>(threshold);
  const V wide = splat<V>(limit);
  int64_t i = from;
  for (; i + 64 <= n; i += 64) {
    typename Lane<V>::Mask kept = above ? load<V>(x + i) <= wide : load<V>(x + i) >= wide;
#pragma GCC unroll 32
    for (int j = 1; j < vectors; ++j) {
      const V v = load<V>(x + i + j * lanes<V>);
      kept &= above ? v <= wide : v >= wide;
    }
    if (any(~kept)) return i;
  }
  for (int64_t k = i; k < n; ++k) {
    if (!(above ? x[k] <= limit : x[k] >= limit)) return i;
  }
  return n;
}

}  // namespace

extern const ThresholdKernels threshold_kernels = {
    {next<F32, true>, next<F64, true>, next<I64, true>},
    {next<F32, false>, next<F64, false>, next<I64, false>},
};

}  // namespace sconce::SCONCE_ISA_NAMESPACE
