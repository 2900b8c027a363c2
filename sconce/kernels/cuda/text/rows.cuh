// Rows: softmax, its gradient, norms. A row is held in registers by THREADS threads, PACKS packs of WIDTH elements each, TY rows
// a block; LONG rows are read again from memory (the L2 cache) instead. What stands above: V the type that is computed in, In0,
// In1, In2 and Out the types in memory, and one of SOFTMAX, SOFTMAX_BACKWARD, LAYER_NORM, RMS_NORM; LOG for logarithms. FULL: the
// packs are the row, and nothing is behind it.
#define EACH_PACK _Pragma("unroll") for (int k = 0; k < PACKS; ++k)
#define EACH _Pragma("unroll") for (int i = 0; i < WIDTH; ++i)
#define ROW_ENTRY(name) extern "C" __global__ void __launch_bounds__(THREADS* TY) name(const __grid_constant__ RowArguments a)
// Where pack k of this thread begins, in its row; from a.columns on there is nothing.
#define AT(k) ((i64(k) * THREADS + threadIdx.x) * WIDTH)

HOT bool is_inside(i64 at, i64 columns) { return FULL || at < columns; }
template <class T> HOT void load_pack(const T* row, i64 at, i64 columns, V nothing, V (&x)[WIDTH]) {
  if (is_inside(at, columns)) {
    const Pack<T, WIDTH> p = read<WIDTH>(row + at);
    EACH x[i] = as<V>(p.v[i]);
  } else {
    EACH x[i] = nothing;
  }
}
HOT void store_pack(Out* row, i64 at, i64 columns, const V (&x)[WIDTH]) {
  if (is_inside(at, columns)) write<WIDTH>(row + at, pack_of<Out>(x));
}
#ifdef LONG
#define PACK_LOOP for (i64 k = 0; AT(k) - threadIdx.x * WIDTH < a.columns; ++k)
#else
#define PACK_LOOP EACH_PACK
#endif

#ifdef SOFTMAX
ROW_ENTRY(softmax) {
  __shared__ V shared[2][TY * (THREADS / 32)];
  const i64 r = i64(blockIdx.x) * TY + threadIdx.y;
  const bool there = r < a.rows;
  const In0* in = static_cast<const In0*>(a.in[0]) + (there ? r : 0) * a.columns;
  Out* out = static_cast<Out*>(a.out[0]) + (there ? r : 0) * a.columns;
  V top = -V_INF, total = 0;
#ifdef LONG
  PACK_LOOP {
    V x[WIDTH];
    load_pack(in, AT(k), a.columns, -V_INF, x);
    EACH top = Largest::of(top, x[i]);
  }
  top = row_reduce<Largest, THREADS>(top, shared[0]);
  PACK_LOOP {
    V x[WIDTH];
    load_pack(in, AT(k), a.columns, -V_INF, x);
    EACH total += word::exp(x[i] - top);
  }
  total = row_reduce<Add, THREADS>(total, shared[1]);
  const V level = LOG ? top + word::log(total) : 1 / total;
  PACK_LOOP {
    V x[WIDTH];
    load_pack(in, AT(k), a.columns, -V_INF, x);
    EACH x[i] = LOG ? x[i] - level : word::exp(x[i] - top) * level;
    if (there) store_pack(out, AT(k), a.columns, x);
  }
#else
  V x[PACKS][WIDTH];
  EACH_PACK load_pack(in, AT(k), a.columns, -V_INF, x[k]);
  EACH_PACK EACH top = Largest::of(top, x[k][i]);
  top = row_reduce<Largest, THREADS>(top, shared[0]);
  EACH_PACK EACH {
    const V e = word::exp(x[k][i] - top);
    total += e;
    x[k][i] = LOG ? x[k][i] - top : e;
  }
  total = row_reduce<Add, THREADS>(total, shared[1]);
  const V level = LOG ? word::log(total) : 1 / total;
  EACH_PACK EACH x[k][i] = LOG ? x[k][i] - level : x[k][i] * level;
  if (there) EACH_PACK store_pack(out, AT(k), a.columns, x[k]);
#endif
}
#endif

#ifdef SOFTMAX_BACKWARD
// Of softmax: y (g - sum of g y); of its logarithm: g - exp(y) sum of g. in: g, y.
ROW_ENTRY(softmax_backward) {
  __shared__ V shared[TY * (THREADS / 32)];
  const i64 r = i64(blockIdx.x) * TY + threadIdx.y;
  const bool there = r < a.rows;
  const In0* grad = static_cast<const In0*>(a.in[0]) + (there ? r : 0) * a.columns;
  const In1* result = static_cast<const In1*>(a.in[1]) + (there ? r : 0) * a.columns;
  Out* out = static_cast<Out*>(a.out[0]) + (there ? r : 0) * a.columns;
  V total = 0;
#ifndef LONG
  V g[PACKS][WIDTH], y[PACKS][WIDTH];
  EACH_PACK {
    load_pack(grad, AT(k), a.columns, 0, g[k]);
    load_pack(result, AT(k), a.columns, 0, y[k]);
  }
  EACH_PACK EACH total += LOG ? g[k][i] : g[k][i] * y[k][i];
  total = row_reduce<Add, THREADS>(total, shared);
  EACH_PACK EACH g[k][i] = LOG ? g[k][i] - word::exp(y[k][i]) * total : y[k][i] * (g[k][i] - total);
  if (there) EACH_PACK store_pack(out, AT(k), a.columns, g[k]);
#else
  PACK_LOOP {
    V g[WIDTH], y[WIDTH];
    load_pack(grad, AT(k), a.columns, 0, g);
    load_pack(result, AT(k), a.columns, 0, y);
    EACH total += LOG ? g[i] : g[i] * y[i];
  }
  total = row_reduce<Add, THREADS>(total, shared);
  PACK_LOOP {
    V g[WIDTH], y[WIDTH];
    load_pack(grad, AT(k), a.columns, 0, g);
    load_pack(result, AT(k), a.columns, 0, y);
    EACH g[i] = LOG ? g[i] - word::exp(y[i]) * total : y[i] * (g[i] - total);
    if (there) store_pack(out, AT(k), a.columns, g);
  }
#endif
}
#endif

#ifdef NORM
// Of layers and groups: in x, weight, bias; out y, mean, 1 / deviation. RMS: without the mean; out y, 1 / root of the mean
// square. A weight belongs to a column, or to `spread` neighbouring ones, of one of `groups` kinds of rows.
HOT i64 channel(const RowArguments& a, i64 row, i64 column) {
  return a.groups == 1 && a.spread == 1 ? column : (row % a.groups) * (a.columns / a.spread) + column / a.spread;
}
// WEIGHT, BIAS: whether they are there. PLAIN: one for each column, so they are read as packs.
HOT void finish_pack(const RowArguments& a, i64 row, i64 at, V mean, V scale, V (&x)[WIDTH]) {
  if (at >= a.columns) return;
  EACH {
    const i64 c = channel(a, row, at + i);
    V y = (x[i] - mean) * scale;
    if constexpr (WEIGHT) y = y * as<V>(static_cast<const In1*>(a.in[1])[c]);
    if constexpr (BIAS) y = y + as<V>(static_cast<const In2*>(a.in[2])[c]);
    x[i] = y;
  }
}
template <class T> HOT void read_parameters(const void* from, i64 at, i64 columns, Pack<T, WIDTH>& p) {
  if (is_inside(at, columns)) p = read<WIDTH>(static_cast<const T*>(from) + at);
}
ROW_ENTRY(row_norm) {
  __shared__ V shared[2][TY * (THREADS / 32)];
  const i64 r = i64(blockIdx.x) * TY + threadIdx.y;
  const bool there = r < a.rows;
  const In0* in = static_cast<const In0*>(a.in[0]) + (there ? r : 0) * a.columns;
  Out* out = static_cast<Out*>(a.out[0]) + (there ? r : 0) * a.columns;
  V total = 0, squares = 0, mean = 0;
#ifndef LONG
  V x[PACKS][WIDTH];
  EACH_PACK load_pack(in, AT(k), a.columns, 0, x[k]);
  if (!RMS) {
    EACH_PACK EACH total += x[k][i];
    mean = row_reduce<Add, THREADS>(total, shared[0]) / V(a.columns);
    EACH_PACK {
      if (is_inside(AT(k), a.columns)) EACH x[k][i] -= mean;
    }
  }
  EACH_PACK EACH squares += x[k][i] * x[k][i];
#else
  if (!RMS) {
    PACK_LOOP {
      V x[WIDTH];
      load_pack(in, AT(k), a.columns, 0, x);
      EACH total += x[i];
    }
    mean = row_reduce<Add, THREADS>(total, shared[0]) / V(a.columns);
  }
  PACK_LOOP {
    V x[WIDTH];
    load_pack(in, AT(k), a.columns, mean, x);
    EACH squares += (x[i] - mean) * (x[i] - mean);
  }
#endif
  const V scale = 1 / word::sqrt(row_reduce<Add, THREADS>(squares, shared[1]) / V(a.columns) + V(a.eps));
#ifndef LONG
  EACH_PACK {
    if constexpr (PLAIN) {
      Pack<In1, WIDTH> w;
      Pack<In2, WIDTH> b;
      if constexpr (WEIGHT) read_parameters(a.in[1], AT(k), a.columns, w);
      if constexpr (BIAS) read_parameters(a.in[2], AT(k), a.columns, b);
      EACH {
        x[k][i] = x[k][i] * scale;
        if constexpr (WEIGHT) x[k][i] = x[k][i] * as<V>(w.v[i]);
        if constexpr (BIAS) x[k][i] = x[k][i] + as<V>(b.v[i]);
      }
    } else {
      finish_pack(a, r, AT(k), V(0), scale, x[k]);
    }
    if (there) store_pack(out, AT(k), a.columns, x[k]);
  }
#else
  PACK_LOOP {
    V x[WIDTH];
    load_pack(in, AT(k), a.columns, mean, x);
    finish_pack(a, r, AT(k), mean, scale, x);
    if (there) store_pack(out, AT(k), a.columns, x);
  }
#endif
  if (there && threadIdx.x == 0) {
    if (!RMS && a.out[1]) static_cast<Saved*>(a.out[1])[r] = as<Saved>(mean);
    if (a.out[2]) static_cast<Saved*>(a.out[2])[r] = as<Saved>(scale);
  }
}
#endif

#ifdef NORM_BACKWARD
// With respect to x. in: gradient, x, weight, saved mean and deviation in out[1], out[2].
ROW_ENTRY(norm_backward) {
  __shared__ V shared[2][TY * (THREADS / 32)];
  const i64 r = i64(blockIdx.x) * TY + threadIdx.y;
  const bool there = r < a.rows;
  const i64 row = there ? r : 0;
  const In0* grad = static_cast<const In0*>(a.in[0]) + row * a.columns;
  const In1* in = static_cast<const In1*>(a.in[1]) + row * a.columns;
  Out* out = static_cast<Out*>(a.out[0]) + row * a.columns;
  const V mean = RMS ? V(0) : as<V>(static_cast<const Saved*>(a.out[1])[row]), scale = as<V>(static_cast<const Saved*>(a.out[2])[row]);
  V first = 0, second = 0;
#pragma unroll 1
  for (int pass = 0; pass < 2; ++pass) {
    for (i64 k = 0; AT(k) - threadIdx.x * WIDTH < a.columns; ++k) {
      V g[WIDTH], x[WIDTH];
      load_pack(grad, AT(k), a.columns, 0, g);
      load_pack(in, AT(k), a.columns, mean, x);
      if (a.in[2] && AT(k) < a.columns) {
        EACH {
          const i64 c = a.groups == 1 && a.spread == 1 ? AT(k) + i : (row % a.groups) * (a.columns / a.spread) + (AT(k) + i) / a.spread;
          g[i] = g[i] * as<V>(static_cast<const In2*>(a.in[2])[c]);
        }
      }
      if (pass == 0) {
        EACH {
          if (!RMS) first += g[i];
          second += g[i] * ((x[i] - mean) * scale);
        }
      } else {
        EACH g[i] = (g[i] - first - (x[i] - mean) * scale * second) * scale;
        if (there) store_pack(out, AT(k), a.columns, g);
      }
    }
    if (pass == 0) {
      first = RMS ? V(0) : row_reduce<Add, THREADS>(first, shared[0]) / V(a.columns);
      second = row_reduce<Add, THREADS>(second, shared[1]) / V(a.columns);
    }
  }
}
#endif
