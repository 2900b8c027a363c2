// Elements that follow from their place: STEPS first + i step; POINTS between first and last, computed from the nearer end so
// that both are exact, in W; POWERS of a base.
extern "C" __global__ void __launch_bounds__(256) range(const __grid_constant__ RangeArguments a) {
  const i64 i = i64(blockIdx.x) * 256 + threadIdx.x;
  if (i >= a.count) return;
  Out* out = static_cast<Out*>(a.out) + i;
#ifdef STEPS
  if constexpr (WHOLE) *out = as<Out>(i64(u64(a.whole_first) + u64(a.whole_step) * u64(i)));
  else *out = as<Out>(a.first + a.step * f64(i));
#else
  const W first = W(a.first), last = W(a.last), step = a.count > 1 ? (last - first) / W(a.count - 1) : W(0);
  W v = i < a.count / 2 || a.count == 1 ? first + step * W(i) : last - step * W(a.count - 1 - i);
#ifdef POWERS
  v = word::pow(W(a.base), v);
#endif
  *out = as<Out>(v);
#endif
}
