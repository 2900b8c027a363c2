// The state of a reduction whose map, combine, identity, merge and finish the table has (struct Op).
// One accumulator that combines is the number itself; others know how many elements they have, and whether any.
constexpr bool kPlain = Op::plain && sizeof(V) >= 4;
template <bool plain> struct StateOf {
  V s[Op::accumulators];
  V n;  // elements, where merge asks for them
  u32 filled;
};
template <> struct StateOf<true> { V s[1]; };
using State = StateOf<kPlain>;
HOT V parameter(const ReduceArguments& a, int i) { return number<V>(a.numbers[i]); }
struct Parameters {
  V p[3];
  HOT explicit Parameters(const ReduceArguments& a) {
#pragma unroll
    for (int i = 0; i < 3; ++i) p[i] = parameter(a, i);
  }
};
template <int k> HOT void set_identity(State& r) {
  r.s[k] = Op::template identity<k>();
  if constexpr (k + 1 < Op::accumulators) set_identity<k + 1>(r);
}
template <class S> HOT S nothing_of() {
  S r;
  set_identity<0>(r);
  if constexpr (!kPlain) {
    r.n = V(0);
    r.filled = 0;
  }
  return r;
}
HOT State nothing() { return nothing_of<State>(); }
template <class S> HOT void join(S& a, const S& b, const Parameters& p) {
  if constexpr (kPlain) {
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
// The elements First to First + N as one, in pairs; a loop over halves would not be unrolled.
template <int k, int First, int N, int K> HOT V folded(const V (&m)[K]) {
  if constexpr (N == 1) return m[First];
  else return Op::template combine<k>(folded<k, First, N / 2>(m), folded<k, First + N / 2, N / 2>(m));
}
// One accumulator of a leaf: a tree over its elements. Later ones may use the earlier.
template <int k, int K> HOT void accumulate(State& leaf, const V (&x)[K], int count, V n, const Parameters& p) {
  V m[K];
#pragma unroll
  for (int i = 0; i < K; ++i) m[i] = i < count ? Op::template map<k>(x[i], leaf.s, n, p.p) : Op::template identity<k>();
  leaf.s[k] = folded<k, 0, K>(m);
  if constexpr (k + 1 < Op::accumulators) accumulate<k + 1>(leaf, x, count, n, p);
}
// `count` of K elements (a power of two), whose places in the reduction nobody asks for.
template <int W, int K, class S> HOT void take(S& r, const V (&x)[K], int count, i64, i64, const Parameters& p) {
  S leaf;
  const V n = V(count);
  if constexpr (!kPlain) {
    leaf.n = n;
    leaf.filled = 1;
  }
  accumulate<0>(leaf, x, count, n, p);
  join(r, leaf, p);
}
template <int result> HOT V result_of(const State& r, const ReduceArguments& a, const Parameters& p) {
  return Op::template finish<result>(r.s, V(P(a.count)), p.p);
}
// The state of the thread whose number differs in these bits.
HOT State exchanged(const State& r, int lanes) { return shuffle_xor(r, lanes); }
