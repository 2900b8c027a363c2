#include "sconce/kernels/cpu/rnn_kernels.h"

#include "sconce/kernels/cpu/simd/row.h"

namespace sconce::SCONCE_ISA_NAMESPACE {
namespace {

template <class V>
SCONCE_VEC V logistic(V x) {
  return 1 / (1 + exp(-x));
}

// f(row, first unit, lanes that count)
template <class V, class F>
SCONCE_VEC void each_unit(const RnnCell& c, F f) {
  for (int64_t r = 0; r < c.rows; ++r) {
    int64_t i = c.begin;
    for (; i + lanes<V> <= c.end; i += lanes<V>) f(r, i, lanes<V>);
    if (i < c.end) f(r, i, c.end - i);
  }
}
#define SCONCE_UNITS [&](int64_t r, int64_t i, int64_t part) __attribute__((always_inline))

template <class V, bool relu>
void plain(const RnnCell& c) {
  using T = typename Lane<V>::T;
  const T* gates = static_cast<const T*>(c.gates);
  T* out = static_cast<T*>(c.out);
  each_unit<V>(
      c, SCONCE_UNITS {
        const V x = load_some<V>(gates + r * c.gates_pitch + i, part);
        store_some(out + r * c.out_pitch + i, relu ? maximum(x, V{}) : tanh(x), part);
      });
}

template <class V>
void lstm(const RnnCell& c) {
  using T = typename Lane<V>::T;
  T *gates = static_cast<T*>(c.gates), *out = static_cast<T*>(c.out), *cells = static_cast<T*>(c.cells);
  const T* before = static_cast<const T*>(c.before);
  each_unit<V>(
      c, SCONCE_UNITS {
        T* g = gates + r * c.gates_pitch + i;
        const V in = logistic(load_some<V>(g, part)), forget = logistic(load_some<V>(g + c.hidden, part));
        const V candidate = tanh(load_some<V>(g + 2 * c.hidden, part));
        const V show = logistic(load_some<V>(g + 3 * c.hidden, part));
        const V cell = fma(forget, load_some<V>(before + r * c.before_pitch + i, part), in * candidate);
        store_some(cells + r * c.hidden + i, cell, part);
        store_some(out + r * c.out_pitch + i, show * tanh(cell), part);
        if (c.save) {
          store_some(g, in, part);
          store_some(g + c.hidden, forget, part);
          store_some(g + 2 * c.hidden, candidate, part);
          store_some(g + 3 * c.hidden, show, part);
        }
      });
}

template <class V>
void gru(const RnnCell& c) {
  using T = typename Lane<V>::T;
  T *gates = static_cast<T*>(c.gates), *out = static_cast<T*>(c.out);
  const T *before = static_cast<const T*>(c.before), *extra = static_cast<const T*>(c.extra);
  each_unit<V>(
      c, SCONCE_UNITS {
        T* g = gates + r * c.gates_pitch + i;
        const V reset = logistic(load_some<V>(g, part)), keep = logistic(load_some<V>(g + c.hidden, part));
        const V candidate =
            tanh(fma(reset, load_some<V>(extra + r * c.hidden + i, part), load_some<V>(g + 2 * c.hidden, part)));
        const V old = load_some<V>(before + r * c.before_pitch + i, part);
        store_some(out + r * c.out_pitch + i, fma(old - candidate, keep, candidate), part);
        if (c.save) {
          store_some(g, reset, part);
          store_some(g + c.hidden, keep, part);
          store_some(g + 2 * c.hidden, candidate, part);
        }
      });
}

}  // namespace

extern const RnnKernels rnn_kernels = {{plain<F32, true>, plain<F64, true>},
                                       {plain<F32, false>, plain<F64, false>},
                                       {lstm<F32>, lstm<F64>},
                                       {gru<F32>, gru<F64>}};

}  // namespace sconce::SCONCE_ISA_NAMESPACE
