// Kernels of recurrent cells: gates, activations and the state of some units in one pass, while they are in the cache.
#include "sconce/kernels/cpu/rnn/rnn_kernels.h"

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

// The same for gradients: rows of all units.
template <class V, class F>
SCONCE_VEC void each_unit(const RnnCellGradient& c, F f) {
  for (int64_t r = 0; r < c.rows; ++r) {
    int64_t i = 0;
    for (; i + lanes<V> <= c.hidden; i += lanes<V>) f(r, i, lanes<V>);
    if (i < c.hidden) f(r, i, c.hidden - i);
  }
}

template <class V, bool relu>
void plain_gradient(const RnnCellGradient& c) {
  using T = typename Lane<V>::T;
  each_unit<V>(
      c, SCONCE_UNITS {
        const int64_t at = r * c.hidden + i;
        const V h = load_some<V>(static_cast<const T*>(c.out) + at, part);
        const V d = load_some<V>(static_cast<const T*>(c.grad) + at, part);
        store_some(static_cast<T*>(c.of_input) + at, relu ? (h > 0 ? d : V{}) : d * (1 - h * h), part);
      });
}

template <class V>
void lstm_gradient(const RnnCellGradient& c) {
  using T = typename Lane<V>::T;
  T* of_cells = static_cast<T*>(c.of_state);
  each_unit<V>(
      c, SCONCE_UNITS {
        const int64_t at = r * c.hidden + i, gates_at = 4 * r * c.hidden + i;
        const T* g = static_cast<const T*>(c.gates) + gates_at;
        const V in = load_some<V>(g, part), forget = load_some<V>(g + c.hidden, part);
        const V candidate = load_some<V>(g + 2 * c.hidden, part), show = load_some<V>(g + 3 * c.hidden, part);
        const V bent = tanh(load_some<V>(static_cast<const T*>(c.kept) + at, part));
        const V before = load_some<V>(static_cast<const T*>(c.before) + r * c.before_pitch + i, part);
        const V d = load_some<V>(static_cast<const T*>(c.grad) + at, part);
        const V slope = load_some<V>(of_cells + at, part) + d * show * (1 - bent * bent);
        T* to = static_cast<T*>(c.of_input) + gates_at;
        store_some(to, slope * candidate * in * (1 - in), part);
        store_some(to + c.hidden, slope * before * forget * (1 - forget), part);
        store_some(to + 2 * c.hidden, slope * in * (1 - candidate * candidate), part);
        store_some(to + 3 * c.hidden, d * bent * show * (1 - show), part);
        store_some(of_cells + at, slope * forget, part);
        if (c.shown) store_some(static_cast<T*>(c.shown) + at, show * bent, part);
      });
}

template <class V>
void gru_gradient(const RnnCellGradient& c) {
  using T = typename Lane<V>::T;
  each_unit<V>(
      c, SCONCE_UNITS {
        const int64_t at = r * c.hidden + i, gates_at = 3 * r * c.hidden + i;
        const T* g = static_cast<const T*>(c.gates) + gates_at;
        const V reset = load_some<V>(g, part), keep = load_some<V>(g + c.hidden, part);
        const V candidate = load_some<V>(g + 2 * c.hidden, part);
        const V before = load_some<V>(static_cast<const T*>(c.before) + r * c.before_pitch + i, part);
        const V d = load_some<V>(static_cast<const T*>(c.grad) + at, part);
        const V slope = d * (1 - keep) * (1 - candidate * candidate);
        const V of_reset = slope * load_some<V>(static_cast<const T*>(c.kept) + at, part) * reset * (1 - reset);
        const V of_keep = d * (before - candidate) * keep * (1 - keep);
        T *to = static_cast<T*>(c.of_input) + gates_at, *to_hidden = static_cast<T*>(c.of_hidden) + gates_at;
        store_some(to, of_reset, part);
        store_some(to_hidden, of_reset, part);
        store_some(to + c.hidden, of_keep, part);
        store_some(to_hidden + c.hidden, of_keep, part);
        store_some(to + 2 * c.hidden, slope, part);
        store_some(to_hidden + 2 * c.hidden, slope * reset, part);
        store_some(static_cast<T*>(c.of_state) + at, d * keep, part);
      });
}

}  // namespace

extern const RnnKernels rnn_kernels = {{plain<F32, true>, plain<F64, true>},
                                       {plain<F32, false>, plain<F64, false>},
                                       {lstm<F32>, lstm<F64>},
                                       {gru<F32>, gru<F64>},
                                       {plain_gradient<F32, true>, plain_gradient<F64, true>},
                                       {plain_gradient<F32, false>, plain_gradient<F64, false>},
                                       {lstm_gradient<F32>, lstm_gradient<F64>},
                                       {gru_gradient<F32>, gru_gradient<F64>}};

}  // namespace sconce::SCONCE_ISA_NAMESPACE
