// The largest or smallest element (LARGEST) and its place: of equal ones the first wins, NaN over everything.
// RESULT_INDEX: the result that is the place; another one is the element.
struct State {
  i64 index;  // -1: nothing yet
  V s;
  u32 padding;
};
struct Parameters { HOT explicit Parameters(const ReduceArguments&) {} };
HOT State nothing() {
  State r;
  r.index = -1;
  r.s = V(0);
  r.padding = 0;
  return r;
}
HOT bool is_before(V a, V b) { return (LARGEST ? a > b : a < b) | ((a != a) & (b == b)); }
HOT void join(State& a, const State& b, const Parameters&) {
  if (b.index < 0) return;
  if (a.index < 0 || is_before(b.s, a.s) || (!is_before(a.s, b.s) && b.index < a.index)) a = b;
}
template <int W, int K> HOT void take(State& r, const V (&x)[K], int count, i64 at, i64 step, const Parameters& p) {
#pragma unroll
  for (int i = 0; i < K; ++i) {
    State one = nothing();
    one.s = x[i];
    one.index = i < count ? at + (i / W) * step + i % W : -1;
    join(r, one, p);
  }
}
template <int result> HOT auto result_of(const State& r, const ReduceArguments&, const Parameters&) {
  if constexpr (result == RESULT_INDEX) return r.index; else return r.s;
}
HOT State exchanged(const State& r, int lanes) { return shuffle_xor(r, lanes); }
