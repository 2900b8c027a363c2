// One pass over the tensors of a step, rounding where the CPU's does (cpu/simd/optimizer.cpp). A block has 4096 elements of one
// parameter. What stands above: T, V, and one of ADAGRAD, RMSPROP (with CENTERED, MOMENTUM), ADADELTA, ADAMAX, NADAM, RADAM,
// RPROP, ASGD.
constexpr int kBlock = 4096;
HOT V lerped(V from, V to, V weight) {
  const V gap = to - from;
  return weight < V(0.5) && weight > V(-0.5) ? word::fma(weight, gap, from) : word::fma(-gap, 1 - weight, to);
}
HOT V squared(V average, V g, f64 beta) { return word::fma(V(1 - beta) * g, g, average * V(beta)); }

extern "C" __global__ void __launch_bounds__(256) step(const __grid_constant__ StepArguments a) {
  if (a.found_inf && *a.found_inf == 1) return;
  int t = 0;
  while (t + 1 < a.count && blockIdx.x >= a.first_block[t + 1]) ++t;
  const i64 begin = i64(blockIdx.x - a.first_block[t]) * kBlock, end = begin + kBlock < a.size[t] ? begin + kBlock : a.size[t];
  const f64* x = a.number[t];
  T *parameter = static_cast<T*>(a.data[0][t]), *gradient = static_cast<T*>(a.data[1][t]);
  T *first = static_cast<T*>(a.data[2][t]), *second = static_cast<T*>(a.data[3][t]), *third = static_cast<T*>(a.data[4][t]);
  for (i64 i = begin + threadIdx.x; i < end; i += 256) {
    V p = as<V>(parameter[i]), g = as<V>(gradient[i]);
    if (a.scale) {
      g = g / V(*a.scale);
      gradient[i] = as<T>(g);
    }
#if defined(NADAM) || defined(RADAM)
    if (x[0] != 1) p = p * V(x[0]);
#endif
    if (a.maximize) g = -g;
    if (a.weight_decay != 0) g = word::fma(V(a.weight_decay), p, g);
    V m = as<V>(first[i]);
#if defined(ADAGRAD)  // rate, eps
    m = word::fma(g, g, m);
    p = p + V(-x[0]) * g / (word::sqrt(m) + V(x[1]));
#elif defined(RMSPROP)  // lr, alpha, eps, momentum
    m = squared(m, g, x[1]);
    V square = m;
#if CENTERED
    const V mean = lerped(as<V>(second[i]), g, V(1 - x[1]));
    second[i] = as<T>(mean);
    square = word::fma(-mean, mean, square);
#endif
    const V size = word::sqrt(square) + V(x[2]);
#if MOMENTUM
    T* buffer = CENTERED ? third : second;
    const V b = as<V>(buffer[i]) * V(x[3]) + g / size;
    buffer[i] = as<T>(b);
    p = word::fma(V(-x[0]), b, p);
#else
    p = p + V(-x[0]) * g / size;
#endif
#elif defined(ADADELTA)  // lr, rho, eps
    m = squared(m, g, x[1]);
    const V sum = as<V>(second[i]), delta = word::sqrt(sum + V(x[2])) / word::sqrt(m + V(x[2])) * g;
    second[i] = as<T>(squared(sum, delta, x[1]));
    p = word::fma(V(-x[0]), delta, p);
#elif defined(ADAMAX)  // rate, beta1, beta2, eps
    m = lerped(m, g, V(1 - x[1]));
    const V largest = word::maximum(as<V>(second[i]) * V(x[2]), word::abs(g) + V(x[3]));
    second[i] = as<T>(largest);
    p = p + V(-x[0]) * m / largest;
#elif defined(NADAM)  // keep, beta1, beta2, eps, correction, rate of the gradient, of the average
    m = lerped(m, g, V(1 - x[1]));
    const V s = squared(as<V>(second[i]), g, x[2]), size = word::sqrt(s / V(x[4])) + V(x[3]);
    second[i] = as<T>(s);
    p = p + V(x[5]) * g / size;
    p = p + V(x[6]) * m / size;
#elif defined(RADAM)  // keep, lr, beta1, beta2, eps, corrections, rectification
    m = lerped(m, g, V(1 - x[2]));
    const V s = squared(as<V>(second[i]), g, x[3]);
    second[i] = as<T>(s);
    V change = m / V(x[5]) * V(x[1]);
    if (x[7] != 0) change = change * (1 / (word::sqrt(s) + V(x[4])) * V(x[6])) * V(x[7]);
    p = p - change;
#elif defined(RPROP)  // eta minus, plus, smallest, largest
    const V turn = g * m, factor = turn > 0 ? V(x[1]) : turn < 0 ? V(x[0]) : V(1);
    const V size = word::minimum(word::maximum(as<V>(second[i]) * factor, V(x[2])), V(x[3]));
    second[i] = as<T>(size);
    m = turn < 0 ? V(0) : g;
    p = p - word::sign(m) * size;
#else  // ASGD: eta, keep, mu
    p = word::fma(V(-x[0]), g, p * V(x[1]));
    m = x[2] == 1 ? p : m + (p - m) * V(x[2]);
#endif
    first[i] = as<T>(m);
    parameter[i] = as<T>(p);
  }
}
