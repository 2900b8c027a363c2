// Nests of rows: what their generated kernels are written with. What stands above: WIDTH, THREADS, TY, PACKS as in rows.cuh,
// whose distribution of a row over threads, and so whose order of sums, this has, and ROW_COLUMNS.
#define EACH_PACK _Pragma("unroll") for (int k = 0; k < PACKS; ++k)
#define EACH _Pragma("unroll") for (int i = 0; i < WIDTH; ++i)
#ifndef ROW_THREAD
#define ROW_THREAD threadIdx.x
#endif
#define AT(k) ((i64(k) * THREADS + ROW_THREAD) * WIDTH)

// Packs of buffers: PACKED where rows may be read and written WIDTH elements at a time.
template <class T> HOT void take_columns(T (&x)[WIDTH], const T* row, i64 at, i64 columns) {
  if (at >= columns) {
    EACH x[i] = T{};
    return;
  }
  if constexpr (PACKED) {
    const Pack<T, WIDTH> p = read<WIDTH>(row + at);
    EACH x[i] = p.v[i];
  } else {
    EACH x[i] = row[at + i];
  }
}
template <class T> HOT void take_cell(T (&x)[WIDTH], const T* row) {
  const T e = *row;
  EACH x[i] = e;
}
template <class T> HOT void give_columns(T* row, i64 at, i64 columns, const T (&x)[WIDTH]) {
  if (at >= columns) return;
  if constexpr (PACKED) {
    Pack<T, WIDTH> p;
    EACH p.v[i] = x[i];
    write<WIDTH>(row + at, p);
  } else {
    EACH row[at + i] = x[i];
  }
}

template <bool LOG, class V> HOT void softmax_row(V (&x)[PACKS][WIDTH], i64 columns, V* shared) {
  V top = -V(INFINITY_64), total = 0;
  EACH_PACK EACH {
    if (AT(k) >= columns) x[k][i] = -V(INFINITY_64);
    top = Largest::of(top, x[k][i]);
  }
  top = row_reduce<Largest, THREADS>(top, shared);
  EACH_PACK EACH {
    const V e = word::exp(x[k][i] - top);
    total += e;
    x[k][i] = LOG ? x[k][i] - top : e;
  }
  total = row_reduce<Add, THREADS>(total, shared + TY * (THREADS / 32));
  const V level = LOG ? word::log(total) : 1 / total;
  EACH_PACK EACH x[k][i] = LOG ? x[k][i] - level : x[k][i] * level;
}

template <bool RMS, class V> HOT void norm_row(V (&x)[PACKS][WIDTH], i64 columns, V eps, V* shared) {
  V total = 0, squares = 0, mean = 0;
  EACH_PACK EACH {
    if (AT(k) >= columns) x[k][i] = 0;
  }
  if (!RMS) {
    EACH_PACK EACH total += x[k][i];
    mean = row_reduce<Add, THREADS>(total, shared) / V(columns);
    EACH_PACK EACH {
      if (AT(k) < columns) x[k][i] -= mean;
    }
  }
  EACH_PACK EACH squares += x[k][i] * x[k][i];
  const V scale = 1 / word::sqrt(row_reduce<Add, THREADS>(squares, shared + TY * (THREADS / 32)) / V(columns) + eps);
  EACH_PACK EACH x[k][i] = x[k][i] * scale;
}
