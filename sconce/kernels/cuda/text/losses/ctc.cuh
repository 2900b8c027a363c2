// Connectionist temporal classification: a block for an item, its threads share the states of a step; steps follow one another.
// What stands above: V, the type of everything.
struct Labels {
  const i64* target;
  i64 blank, classes;
  void* word;
  int number;
  HOT i64 of(i64 state) const { return state % 2 == 0 ? blank : checked_index(target[state / 2], classes, false, word, number); }
  // May a way come from two states before?
  HOT bool skips(i64 state) const { return state % 2 == 1 && state >= 3 && target[state / 2] != target[state / 2 - 1]; }
};
HOT V log_add(V a, V b, V c) {
  const V top = a > b ? (a > c ? a : c) : (b > c ? b : c);
  if (top == -V_INF) return top;
  return word::log(word::exp(a - top) + word::exp(b - top) + word::exp(c - top)) + top;
}

extern "C" __global__ void __launch_bounds__(256) ctc(const __grid_constant__ CtcArguments a) {
  const i64 b = blockIdx.x, steps = a.inputs[b], states = 2 * a.lengths[b] + 1, step = a.batch * a.classes;
  const Labels label = {a.targets + a.first[b], a.blank, a.classes, a.word, a.number};
  const V* row = static_cast<const V*>(a.logs) + b * a.classes;
  V* alpha = static_cast<V*>(a.alpha) + b * a.steps * a.states;
  for (i64 i = threadIdx.x; i < a.steps * a.states; i += 256) alpha[i] = -V_INF;
  __syncthreads();
  if (steps == 0) {
    if (threadIdx.x == 0) static_cast<V*>(a.loss)[b] = a.lengths[b] == 0 ? V(0) : V_INF;
    return;
  }
  if (threadIdx.x == 0) {
    alpha[0] = row[a.blank];
    if (states > 1) alpha[1] = row[label.of(1)];
  }
  __syncthreads();
  for (i64 t = 1; t < steps; ++t) {
    const V *before = alpha + (t - 1) * a.states, *now = row + t * step;
    for (i64 s = threadIdx.x; s < states; s += 256) {
      const V one = s >= 1 ? before[s - 1] : -V_INF, two = label.skips(s) ? before[s - 2] : -V_INF;
      alpha[t * a.states + s] = log_add(before[s], one, two) + now[label.of(s)];
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    const V* last = alpha + (steps - 1) * a.states;
    static_cast<V*>(a.loss)[b] = -log_add(last[states - 1], states > 1 ? last[states - 2] : -V_INF, -V_INF);
  }
}

// Sums over the states of a class are one thread's, in the order of the states: the same bits every time.
extern "C" __global__ void __launch_bounds__(256) ctc_backward(const __grid_constant__ CtcArguments a) {
  const i64 b = blockIdx.x, steps = a.inputs[b], states = 2 * a.lengths[b] + 1, step = a.batch * a.classes;
  const Labels label = {a.targets + a.first[b], a.blank, a.classes, a.word, a.number};
  const V* row = static_cast<const V*>(a.logs) + b * a.classes;
  const V* alpha = static_cast<const V*>(a.alpha) + b * a.steps * a.states;
  V* out = static_cast<V*>(a.out) + b * a.classes;
  V* beta = static_cast<V*>(a.room) + b * (2 * a.states + a.classes);
  V* sums = beta + 2 * a.states;
  const V loss = static_cast<const V*>(a.loss)[b], scale = static_cast<const V*>(a.grad)[b];
  const bool nothing = a.zero_infinity && loss == V_INF;
  for (i64 t = nothing ? 0 : steps; t < a.steps; ++t)
    for (i64 c = threadIdx.x; c < a.classes; c += 256) out[t * step + c] = 0;
  if (nothing) return;
  for (i64 t = steps - 1; t >= 0; --t) {
    const V* now = row + t * step;
    V *here = beta + (t & 1) * a.states, *next = beta + (~t & 1) * a.states;
    for (i64 s = threadIdx.x; s < states; s += 256) {
      V onward;
      if (t == steps - 1) {
        onward = s >= states - 2 ? V(0) : -V_INF;
      } else {
        const V one = s + 1 < states ? next[s + 1] : -V_INF;
        const V two = s + 2 < states && label.skips(s + 2) ? next[s + 2] : -V_INF;
        onward = log_add(next[s], one, two);
      }
      here[s] = onward + now[label.of(s)];
    }
    for (i64 c = threadIdx.x; c < a.classes; c += 256) sums[c] = -V_INF;
    __syncthreads();
    if (threadIdx.x == 0) {
      for (i64 s = 0; s < states; ++s) {
        V& sum = sums[label.of(s)];
        sum = log_add(sum, alpha[t * a.states + s] + here[s], -V_INF);
      }
    }
    __syncthreads();
    for (i64 c = threadIdx.x; c < a.classes; c += 256)
      out[t * step + c] = (word::exp(now[c]) - word::exp(sums[c] + loss - now[c])) * scale;
    __syncthreads();
  }
}
