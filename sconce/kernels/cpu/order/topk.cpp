// topk along a dim. A few of many come from a heap, behind a vector scan that skips what cannot enter it; more from a
// partition. Of equal elements, short lines give those that the standard library's partial sorts leave in front.
#include <algorithm>
#include <array>
#include <cmath>

#include "sconce/base/error.h"
#include "sconce/base/variants/variants.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/sorting_kernels.h"
#include "sconce/kernels/cpu/engine/cpu_level.h"
#include "sconce/kernels/cpu/engine/for_lines.h"
#include "sconce/kernels/cpu/engine/threshold_kernels.h"
#include "sconce/kernels/cpu/order/ordering.h"
#include "sconce/kernels/cpu/order/selection.h"
#include "sconce/tensor/strides.h"

namespace sconce {

const ThresholdKernels& threshold_kernels() { return at_cpu_level(SCONCE_OF_EACH_LEVEL(threshold_kernels)); }

namespace cpu {
namespace {

SCONCE_VARIANT(by_heap, "topk.heap", "k of 64 k elements or more");
SCONCE_VARIANT(by_key, "topk.by_key", "more than 16,384 elements, fewer than 64 k");

constexpr int64_t kShort = 16384;  // lines up to here are partitioned as pairs

// A key and the place it is from, as small as they can be.
template <class T>
struct Keyed {
  typename Key<T>::Bits key;
  typename Key<T>::Bits index;
};
template <class T, bool largest>
bool before(const Keyed<T>& a, const Keyed<T>& b) {
  return largest ? a.key > b.key : a.key < b.key;
}

template <class T>
void write(const T* x, const Keyed<T>* chosen, int64_t k, T* values, int64_t* indices) {
  for (int64_t i = 0; i < k; ++i) {
    indices[i] = static_cast<int64_t>(chosen[i].index);
    values[i] = x[indices[i]];
  }
}

template <class T, bool largest>
void top_by_heap(const T* x, int64_t n, int64_t k, T* values, int64_t* indices) {
  using Bits = typename Key<T>::Bits;
  const auto less = [](const Keyed<T>& a, const Keyed<T>& b) { return before<T, largest>(a, b); };
  const int kind = std::is_same_v<T, float> ? 0 : std::is_same_v<T, double> ? 1 : 2;
  const ThresholdKernels::Next next = largest ? threshold_kernels().above[kind] : threshold_kernels().below[kind];
  Scratch scratch;
  auto* heap = scratch.take<Keyed<T>>(k + 1);
  for (int64_t i = 0; i < k; ++i) heap[i] = {Key<T>::of(x[i]), static_cast<Bits>(i)};
  std::make_heap(heap, heap + k, less);
  T limit = x[heap[0].index];  // the one that leaves next
  for (int64_t i = next(x, k, n, &limit); i < n; i = next(x, i, n, &limit)) {
    const int64_t end = std::min(i + 64, n);
    for (; i < end; ++i) {
      if (largest ? x[i] <= limit : x[i] >= limit) continue;
      heap[k] = {Key<T>::of(x[i]), static_cast<Bits>(i)};
      if (!less(heap[k], heap[0])) continue;
      std::pop_heap(heap, heap + k + 1, less);
      limit = x[heap[0].index];
    }
  }
  std::sort_heap(heap, heap + k, less);
  write(x, heap, k, values, indices);
}

template <class T, bool largest>
void top_by_partition(const T* x, int64_t n, int64_t k, bool sorted, T* values, int64_t* indices) {
  using Bits = typename Key<T>::Bits;
  const auto less = [](const Keyed<T>& a, const Keyed<T>& b) { return before<T, largest>(a, b); };
  Scratch scratch;
  auto* keys = scratch.take<Keyed<T>>(n);
  for (int64_t i = 0; i < n; ++i) keys[i] = {Key<T>::of(x[i]), static_cast<Bits>(i)};
  std::nth_element(keys, keys + k - 1, keys + n, less);
  if (sorted) std::sort(keys, keys + k - 1, less);
  write(x, keys, k, values, indices);
}

// Long lines: the k-th key first, then all that come before it, and the first of those that equal it.
template <class T>
void top_by_key(const T* x, int64_t n, int64_t k, bool largest, T* values, int64_t* indices) {
  int64_t below = 0;
  const auto limit = select_key(x, n, k - 1, largest, &below);
  Scratch scratch;
  T* chosen = scratch.take<T>(k);
  auto* place = scratch.take<int64_t>(k);
  int64_t m = 0, equal = k - below;
  for (int64_t i = 0; i < n && m < k; ++i) {
    const auto key = Key<T>::of(x[i]);
    const bool take = (largest ? key > limit : key < limit) || (key == limit && equal-- > 0);
    chosen[m] = x[i];
    place[m] = i;
    m += take;
  }
  constexpr DType dtype = std::is_same_v<T, float>    ? DType::float32
                          : std::is_same_v<T, double> ? DType::float64
                                                      : DType::int64;
  const uint64_t* order = order_line(chosen, dtype, k, largest, scratch);
  for (int64_t i = 0; i < k; ++i) {
    values[i] = chosen[order[i] & 0xffffffff];
    indices[i] = place[order[i] & 0xffffffff];
  }
}

template <class T, bool largest>
void top(const T* x, int64_t n, int64_t k, bool sorted, T* values, int64_t* indices) {
  if (!by_heap(k * 64 <= n)) {
    if (by_key(n > kShort)) return top_by_key(x, n, k, largest, values, indices);
    return top_by_partition<T, largest>(x, n, k, sorted, values, indices);
  }
  top_by_heap<T, largest>(x, n, k, values, indices);
}

}  // namespace

void topk(const Tensor& self, int64_t k, int64_t dim, bool largest, bool sorted, const Tensor& values,
          const Tensor& indices) {
  if (values.numel() == 0) return;
  if (self.dim() == 0) {
    copy_tensor(values, self);
    *indices.data<int64_t>() = 0;
    return;
  }
  dim = wrap_dim(dim, self.dim());
  const int64_t n = self.sizes()[static_cast<size_t>(dim)];
  SCONCE_CHECK(n <= kMaxLine, "topk: lines of more than 2^32 elements are not supported, got {}", n);
  const auto run = [&]<class T>(DType compute) {
    const LineOperand outs[] = {{values, compute}, {indices, DType::int64}};
    for_lines({self, compute}, dim, outs, 8192, [&](const void* in, void* const* out) {
      (largest ? top<T, true> : top<T, false>)(static_cast<const T*>(in), n, k, sorted, static_cast<T*>(out[0]),
                                               static_cast<int64_t*>(out[1]));
    });
  };
  if (self.dtype() == DType::float64) return run.template operator()<double>(DType::float64);
  if (is_floating(self.dtype())) return run.template operator()<float>(DType::float32);
  run.template operator()<int64_t>(DType::int64);
}

}  // namespace cpu

namespace any_device {

std::array<OutSpec, 2> topk_spec(const Tensor& self, int64_t k, int64_t dim, bool, bool) {
  dim = wrap_dim(dim, self.dim());
  Dims sizes(self.sizes());
  const int64_t n = self.dim() == 0 ? 1 : sizes[static_cast<size_t>(dim)];
  SCONCE_CHECK(k >= 0 && k <= n, "selected index k out of range: {} of {}", k, n);
  SCONCE_CHECK(!is_complex(self.dtype()), "topk does not support complex dtypes on CPU, got {}",
               dtype_name(self.dtype()));
  SCONCE_CHECK(self.dtype() != DType::bool_, "topk does not support bool dtypes on CPU");
  if (self.dim() > 0) sizes[static_cast<size_t>(dim)] = k;
  return {OutSpec{sizes, self.dtype()}, OutSpec{sizes, DType::int64}};
}

}  // namespace any_device
}  // namespace sconce
