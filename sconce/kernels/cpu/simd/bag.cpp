// Kernels of embedding bags: sums of rows of a table at random places, which wait for memory. Rows are fetched ahead,
// and strips of up to eight vectors stay in registers.
#include "sconce/kernels/cpu/index/bag_kernels.h"

#include "sconce/kernels/cpu/simd/row.h"

namespace sconce::SCONCE_ISA_NAMESPACE {
namespace {

constexpr int64_t kAhead = 16;  // rows that are fetched before they are needed

template <class V, int vectors>
SCONCE_VEC void sum_strip(typename Lane<V>::T* out, const typename Lane<V>::T* table, int64_t width,
                          const int64_t* index, int64_t count, int64_t known, const typename Lane<V>::T* weights,
                          int64_t padding, V scale, int64_t last) {
  constexpr int wide = lanes<V>;
  V acc[vectors];
#pragma GCC unroll 8
  for (int j = 0; j < vectors; ++j) acc[j] = V{};
  for (int64_t i = 0; i < count; ++i) {
    if (i + kAhead < known) {
#pragma GCC unroll 8
      for (int j = 0; j < vectors; ++j) __builtin_prefetch(table + index[i + kAhead] * width + j * wide);
    }
    if (index[i] == padding) continue;
    const auto* row = table + index[i] * width;
    const V by = splat<V>(weights ? weights[i] : 1);
#pragma GCC unroll 8
    for (int j = 0; j < vectors; ++j)
      acc[j] = fma(load_some<V>(row + j * wide, j + 1 < vectors ? wide : last), by, acc[j]);
  }
#pragma GCC unroll 8
  for (int j = 0; j < vectors; ++j) store_some(out + j * wide, acc[j] * scale, j + 1 < vectors ? wide : last);
}

template <class V>
void sum(void* out, const void* table, int64_t width, const int64_t* index, int64_t count, int64_t known,
         const void* weights, int64_t padding, double scale) {
  using T = typename Lane<V>::T;
  constexpr int wide = lanes<V>;
  const T *rows = static_cast<const T*>(table), *by = static_cast<const T*>(weights);
  T* to = static_cast<T*>(out);
  const V times = splat<V>(static_cast<T>(scale));
  int64_t c = 0;
  for (; c + 8 * wide <= width; c += 8 * wide)
    sum_strip<V, 8>(to + c, rows + c, width, index, count, known, by, padding, times, wide);
  for (; c + 4 * wide <= width; c += 4 * wide)
    sum_strip<V, 4>(to + c, rows + c, width, index, count, known, by, padding, times, wide);
  for (; c < width; c += wide)
    sum_strip<V, 1>(to + c, rows + c, width, index, count, known, by, padding, times,
                    width - c < wide ? width - c : wide);
}

template <class V>
void largest(void* out, int64_t* best, const void* table, int64_t width, const int64_t* index, int64_t count,
             int64_t known, int64_t padding) {
  using T = typename Lane<V>::T;
  using Mask = typename Lane<V>::Mask;
  using Place = typename Lane<Mask>::T;
  constexpr int wide = lanes<V>;
  const T* rows = static_cast<const T*>(table);
  T* to = static_cast<T*>(out);
  for (int64_t c = 0; c < width; c += wide) {
    const int64_t part = width - c < wide ? width - c : wide;
    V top{};
    Mask place = Mask{} - 1;
    bool begun = false;
    for (int64_t i = 0; i < count; ++i) {
      if (i + kAhead < known) __builtin_prefetch(rows + index[i + kAhead] * width + c);
      if (index[i] == padding) continue;
      const V x = load_some<V>(rows + index[i] * width + c, part);
      const Mask here = begun ? Mask(x > top) : ~Mask{};
      top = here ? x : top;
      place = here ? Mask{} + static_cast<Place>(i) : place;
      begun = true;
    }
    store_some(to + c, top, part);
    for (int64_t j = 0; j < part; ++j) best[c + j] = begun ? index[place[j]] : 0;
  }
}

}  // namespace

extern const BagKernels bag_kernels = {{sum<F32>, sum<F64>}, {largest<F32>, largest<F64>}};

}  // namespace sconce::SCONCE_ISA_NAMESPACE
