// The state of a reduction whose map, combine, identity, merge and finish the table has (struct Op).
struct State {
  V s[Op::accumulators];
  V n;  // elements, where merge asks for them
  u32 filled;
};
DEVICE V parameter(const ReduceArguments& a, int i) { return number<V>(a.numbers[i]); }
struct Parameters {
  V p[3];
  DEVICE explicit Parameters(const ReduceArguments& a) {
#pragma unroll
    for (int i = 0; i < 3; ++i) p[i] = parameter(a, i);
  }
};
template <int k> DEVICE void set_identity(State& r) {
  r.s[k] = Op::template identity<k>();
  if constexpr (k + 1 < Op::accumulators) set_identity<k + 1>(r);
}
DEVICE State nothing() {
  State r;
  set_identity<0>(r);
  r.n = V(0);
  r.filled = 0;
  return r;
}
DEVICE void join(State& a, const State& b, const Parameters& p) {
  if constexpr (Op::plain) {
    a.s[0] = Op::template combine<0>(a.s[0], b.s[0]);
  } else {
    if (!b.filled) return;
    if (!a.filled) {
      a = b;
      return;
    }
    Op::merge(a.s, a.n, b.s, b.n, p.p);
    a.n = a.n + b.n;
  }
}
// One accumulator of a leaf: a tree over its elements. Later ones may use the earlier.
template <int k, int K> DEVICE void accumulate(State& leaf, const V (&x)[K], int count, V n, const Parameters& p) {
  V m[K];
#pragma unroll
  for (int i = 0; i < K; ++i) m[i] = i < count ? Op::template map<k>(x[i], leaf.s, n, p.p) : Op::template identity<k>();
#pragma unroll
  for (int half = K / 2; half > 0; half /= 2) {
#pragma unroll
    for (int i = 0; i < half; ++i) m[i] = Op::template combine<k>(m[i], m[i + half]);
  }
  leaf.s[k] = m[0];
  if constexpr (k + 1 < Op::accumulators) accumulate<k + 1>(leaf, x, count, n, p);
}
// `count` of K elements (a power of two), whose places in the reduction nobody asks for.
template <int W, int K> DEVICE void take(State& r, const V (&x)[K], int count, i64, i64, const Parameters& p) {
  State leaf;
  leaf.n = V(count);
  leaf.filled = 1;
  accumulate<0>(leaf, x, count, leaf.n, p);
  join(r, leaf, p);
}
template <int result> DEVICE V result_of(const State& r, const ReduceArguments& a, const Parameters& p) {
  return Op::template finish<result>(r.s, V(P(a.count)), p.p);
}
