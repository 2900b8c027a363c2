// One pass over all tensors of a step: it is bound by memory. What stands above: T, V, and SGD, or ADAM with AMSGRAD. A block
// has 4096 elements of one parameter.
constexpr int kBlock = 4096;
HOT V lerped(V from, V to, V weight) {
  const V gap = to - from;
  return weight < V(0.5) && weight > V(-0.5) ? word::fma(weight, gap, from) : word::fma(-gap, 1 - weight, to);
}
extern "C" __global__ void __launch_bounds__(256) optimizer(const __grid_constant__ OptimizerArguments a) {
  __shared__ V shared[2];
  if (a.found_inf && *a.found_inf == 1) return;
  int t = 0;
  while (t + 1 < a.count && blockIdx.x >= a.first_block[t + 1]) ++t;
#ifdef ADAM
  if (threadIdx.x == 0) {
    const f64 n = a.step[t] ? f64(*a.step[t]) : a.step_number[t];
    shared[0] = V(a.lr / (1 - ::pow(a.beta1, n)));
    shared[1] = V(::sqrt(1 - ::pow(a.beta2, n)));
  }
  __syncthreads();
#endif
  const i64 begin = i64(blockIdx.x - a.first_block[t]) * kBlock, end = begin + kBlock < a.size[t] ? begin + kBlock : a.size[t];
  T *parameter = static_cast<T*>(a.data[0][t]), *gradient = static_cast<T*>(a.data[1][t]);
  T *kept = static_cast<T*>(a.data[2][t]), *squares = static_cast<T*>(a.data[3][t]), *largest = static_cast<T*>(a.data[4][t]);
  for (i64 i = begin + threadIdx.x; i < end; i += 256) {
    V p = as<V>(parameter[i]), g = as<V>(gradient[i]);
    if (a.scale) {
      g = g / V(*a.scale);
      gradient[i] = as<T>(g);
    }
    if (a.maximize) g = -g;
#ifdef ADAM
    if (a.decoupled) {
      if (a.weight_decay != 0) p = p * V(1 - a.lr * a.weight_decay);
    } else if (a.weight_decay != 0) {
      g = word::fma(V(a.weight_decay), p, g);
    }
    const V m = lerped(as<V>(kept[i]), g, V(1 - a.beta1));
    V s = word::fma(V(1 - a.beta2) * g, g, as<V>(squares[i]) * V(a.beta2));
    kept[i] = as<T>(m);
    squares[i] = as<T>(s);
    if constexpr (AMSGRAD) {
      const V before = as<V>(largest[i]);
      s = (before > s) | (before != before) ? before : s;
      largest[i] = as<T>(s);
    }
    p = p - shared[0] * m / (word::sqrt(s) / shared[1] + V(a.eps));
#else
    if (a.weight_decay != 0) g = word::fma(V(a.weight_decay), p, g);
    if (a.has_buffer) {
      const V b = a.first ? g : word::fma(V(1 - a.dampening), g, as<V>(kept[i]) * V(a.momentum));
      kept[i] = as<T>(b);
      g = a.nesterov ? word::fma(V(a.momentum), b, g) : b;
    }
    p = word::fma(V(-a.lr), g, p);
#endif
    parameter[i] = as<T>(p);
  }
}
