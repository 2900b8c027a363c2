// Distances between all pairs of rows, a thread for each, and their gradient, a thread for each element. What stands above: V,
// the type of everything; POWER: 0, 1, 2, 3 for infinity, 4 for all others.
extern "C" __global__ void __launch_bounds__(256) distances(const __grid_constant__ DistanceArguments a) {
  const i64 n = i64(blockIdx.x) * 256 + threadIdx.x;
  if (n >= a.batch * a.rows * a.others) return;
  const i64 batch = n / (a.rows * a.others), row = n / a.others % a.rows, other = n % a.others;
  const V* x = static_cast<const V*>(a.x) + (batch * a.rows + row) * a.width;
  const V* y = static_cast<const V*>(a.y) + (batch * a.others + other) * a.width;
  V total = 0;
  for (i64 k = 0; k < a.width; ++k) {
    const V d = word::abs(x[k] - y[k]);
    total = POWER == 0 ? total + V(d != 0) : POWER == 1 ? total + d : POWER == 2 ? total + d * d
            : POWER == 3 ? word::maximum(total, d) : total + word::pow(d, V(a.p));
  }
  static_cast<V*>(a.out)[n] = POWER == 2 ? word::sqrt(total) : POWER == 4 ? word::pow(total, V(1 / a.p)) : total;
}
extern "C" __global__ void __launch_bounds__(256) distances_backward(const __grid_constant__ DistanceArguments a) {
  const i64 n = i64(blockIdx.x) * 256 + threadIdx.x;
  if (n >= a.batch * a.rows * a.width) return;
  const i64 batch = n / (a.rows * a.width), row = n / a.width % a.rows, k = n % a.width;
  const V x = static_cast<const V*>(a.x)[n];
  const V* y = static_cast<const V*>(a.y) + batch * a.others * a.width + k;
  const i64 first = (batch * a.rows + row) * a.others;
  V total = 0;
  for (i64 j = 0; j < a.others; ++j) {
    const V d = x - y[j * a.width], size = word::abs(d), g = static_cast<const V*>(a.grad)[first + j];
    const V distance = static_cast<const V*>(a.distance)[first + j], direction = word::sign(d);
    if constexpr (POWER == 1) total = total + direction * g;
    else if constexpr (POWER == 2) total = total + (distance == 0 ? V(0) : g * d / distance);
    else if constexpr (POWER == 3) total = total + (size == distance ? direction * g : V(0));
    else if constexpr (POWER == 4) total = total + (distance == 0 || d == 0 ? V(0) : direction * word::pow(size / distance, V(a.p - 1)) * g);
  }
  static_cast<V*>(a.out)[n] = total;
}
