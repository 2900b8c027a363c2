// Draws whose parameters are tensors: a stream of Philox words for each thread. What stands above: `philox` and the numbers of
// random.cuh, T the type of the elements, and one of ISLANDS, CATEGORIES, POISSON, BINOMIAL, GAMMA.
struct Stream {
  u64 seed, thread, counter;
  Words words;
  int at;
  DEVICE Stream(u64 s, u64 t, u64 c) : seed(s), thread(t), counter(c), at(4) {}
  DEVICE u32 word() {
    if (at == 4) {
      words = philox(seed, thread, counter++);
      at = 0;
    }
    return words.v[at++];
  }
  DEVICE double even() {
    const u32 low = word(), high = word();
    return unit(low, high);
  }
  DEVICE double gaussian() {
    const double length = sqrt(-2.0 * log(even())), angle = 6.283185307179586477 * even();
    return length * cos(angle);
  }
};

#if defined(ISLANDS)
// randperm: elements whose keys are equal are put in any order; the first of them does it.
extern "C" __global__ void __launch_bounds__(256) sampling(const __grid_constant__ SamplingArguments a) {
  const i64 n = i64(blockIdx.x) * 256 + threadIdx.x;
  const K* keys = static_cast<const K*>(a.a);
  if (n >= a.count - 1 || keys[n] != keys[n + 1] || (n != 0 && keys[n] == keys[n - 1])) return;
  int size = 0;
  do ++size;
  while (n + size < a.count && keys[n + size] == keys[n]);
  T* data = static_cast<T*>(a.out) + n;
  Stream words(a.seed, u64(n), a.counter);
  for (int i = size - 1; i > 0; --i) {
    const u32 r = words.word() % u32(i + 1);
    const T other = data[i];
    data[i] = data[r];
    data[r] = other;
  }
}
#elif defined(CATEGORIES)
// multinomial with replacement. a: cumulative weights of a row, over their sum; b: the weights. Samples of a row have a thread
// each, rows follow in the grid's other dimension.
extern "C" __global__ void __launch_bounds__(128) sampling(const __grid_constant__ SamplingArguments a) {
  const i64 sample = i64(blockIdx.x) * 128 + threadIdx.x;
  const u64 thread = (u64(blockIdx.y) * gridDim.x + blockIdx.x) * 128 + threadIdx.x;
  u64 counter = a.counter;
  for (i64 row = blockIdx.y; row < a.count; row += gridDim.y, ++counter) {
    if (sample >= a.samples) return;
    const T *sums = static_cast<const T*>(a.a) + row * a.categories, *weights = static_cast<const T*>(a.b) + row * a.categories;
    const T drawn = as<T>(unit(philox(a.seed, thread, counter).v[0]));
    i64 low = 0, high = a.categories;
    while (low < high) {
      const i64 middle = low + (high - low) / 2;
      if (as<double>(sums[middle]) < as<double>(drawn)) low = middle + 1;
      else high = middle;
    }
    if (low == a.categories) low = a.categories - 1;
    while (low > 0 && as<double>(weights[low]) == 0) --low;
    static_cast<i64*>(a.out)[row * a.samples + sample] = low;
  }
}
#else
DEVICE double log_factorial_rest(double k) {  // log(k!) less Stirling's formula for it
  return lgamma(k + 1) - (k + 0.5) * log(k + 1) + (k + 1) - 0.91893853320467274178;
}
// The algorithms of cpu/random/samplers.cpp: Hormann's transformed rejection, distances between successes, Marsaglia and Tsang.
DEVICE double poisson_of(double rate, Stream& s) {
  if (!(rate > 0)) return rate == 0 ? 0 : NAN_64;
  if (rate < 10) {
    const double limit = exp(-rate);
    double count = 0;
    for (double product = s.even(); product > limit; product *= s.even()) ++count;
    return count;
  }
  const double log_rate = log(rate), b = 0.931 + 2.53 * sqrt(rate), c = -0.059 + 0.02483 * b;
  const double inverse = 1.1239 + 1.1328 / (b - 3.4), surely = 0.9277 - 3.6224 / (b - 2);
  while (true) {
    const double u = s.even() - 0.5, v = s.even(), edge = 0.5 - fabs(u);
    const double k = floor((2 * c / edge + b) * u + rate + 0.43);
    if (edge >= 0.07 && v <= surely) return k;
    if (k < 0 || (edge < 0.013 && v > edge)) continue;
    if (log(v) + log(inverse) - log(c / (edge * edge) + b) <= k * log_rate - rate - lgamma(k + 1)) return k;
  }
}
DEVICE double binomial_of(double count, double given, Stream& s) {
  if (count != count || given != given) return NAN_64;
  if (count <= 0 || given <= 0) return 0;
  if (given >= 1) return count;
  const double p = given <= 0.5 ? given : 1 - given;
  double k = 0;
  if (count * p < 10) {
    const double log_failure = log1p(-p);
    for (double place = 0;; ++k) {
      place += ceil(log(s.even()) / log_failure);
      if (!(place <= count)) break;
    }
  } else {
    const double deviation = sqrt(count * p * (1 - p)), b = 1.15 + 2.53 * deviation, c = -0.0873 + 0.0248 * b + 0.01 * p;
    const double centre = count * p + 0.5, surely = 0.92 - 4.2 / b, odds = p / (1 - p);
    const double alpha = (2.83 + 5.1 / b) * deviation, mode = floor((count + 1) * p);
    while (true) {
      const double u = s.even() - 0.5, v = s.even(), edge = 0.5 - fabs(u);
      k = floor((2 * c / edge + b) * u + centre);
      if (edge >= 0.07 && v <= surely) break;
      if (k < 0 || k > count) continue;
      const double bound = (mode + 0.5) * log((mode + 1) / (odds * (count - mode + 1))) +
                           (count + 1) * log((count - mode + 1) / (count - k + 1)) +
                           (k + 0.5) * log(odds * (count - k + 1) / (k + 1)) + log_factorial_rest(mode) +
                           log_factorial_rest(count - mode) - log_factorial_rest(k) - log_factorial_rest(count - k);
      if (log(v * alpha / (c / (edge * edge) + b)) <= bound) break;
    }
  }
  return given <= 0.5 ? k : count - k;
}
DEVICE double gamma_of(double shape, Stream& s) {
  if (!(shape > 0)) return shape < 0 ? NAN_64 : shape;
  double scale = 1;
  if (shape < 1) {
    scale = pow(s.even(), 1 / shape);
    shape += 1;
  }
  const double d = shape - 1.0 / 3, c = 1 / sqrt(9 * d);
  while (true) {
    double x, y;
    do {
      x = s.gaussian();
      y = 1 + c * x;
    } while (y <= 0);
    const double v = y * y * y, u = s.even(), square = x * x;
    if (u < 1 - 0.0331 * square * square || log(u) < 0.5 * square + d * (1 - v + log(v))) return scale * d * v;
  }
}
extern "C" __global__ void __launch_bounds__(256) sampling(const __grid_constant__ SamplingArguments a) {
  const i64 n = i64(blockIdx.x) * 256 + threadIdx.x;
  if (n >= a.count) return;
  Stream s(a.seed, u64(n), a.counter);
  const double first = as<double>(static_cast<const T*>(a.a)[n]);
#if defined(POISSON)
  const double drawn = poisson_of(first, s);
#elif defined(BINOMIAL)
  const double drawn = binomial_of(first, as<double>(static_cast<const T*>(a.b)[n]), s);
#else
  double drawn = gamma_of(first, s);
  const double least = same<T, double> ? 0x1p-1022 : 0x1p-126;
  if (drawn < least) drawn = least;
#endif
  static_cast<T*>(a.out)[n] = as<T>(drawn);
}
#endif
