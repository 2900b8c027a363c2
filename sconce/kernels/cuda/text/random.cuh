// Random draws: Philox 4x32-10 as a function of (seed, thread, counter), and PyTorch's distributions over its words. Nothing
// is stored between launches: the host moves the counter. Defined in front of this text: OUT (type of the elements), REAL
// (float or double, what a draw is computed in), DRAW (a distribution below), NUMBERS (even or normal).
struct Words { u32 v[4]; };

DEVICE Words philox(u64 seed, u64 thread, u64 counter) {
  u32 c0 = u32(counter), c1 = u32(counter >> 32), c2 = u32(thread), c3 = u32(thread >> 32);
  u32 k0 = u32(seed), k1 = u32(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const u64 p0 = u64(0xd2511f53u) * c0, p1 = u64(0xcd9e8d57u) * c2;
    c0 = u32(p1 >> 32) ^ c1 ^ k0;
    c2 = u32(p0 >> 32) ^ c3 ^ k1;
    c1 = u32(p1);
    c3 = u32(p0);
    k0 += 0x9e3779b9u;  // the golden ratio, and sqrt(3) - 1
    k1 += 0xbb67ae85u;
  }
  return {c0, c1, c2, c3};
}

// In (0, 1]: the middle of each of the 2^32 (2^53) intervals, so that 0 never comes and 1 does where it is rounded.
DEVICE float unit(u32 word) { return float(word) * 0x1p-32f + 0x1p-33f; }
DEVICE double unit(u32 low, u32 high) { return double(u64(low) ^ u64(high) << 21) * 0x1p-53 + 0x1p-54; }
DEVICE u64 joined(u32 high, u32 low) { return u64(high) << 32 | low; }

// PyTorch computes floats by the chip's approximations: their bits are part of its draws.
#ifdef SCONCE_ON_HOST
DEVICE float log_of(float x) { return logf(x); }
DEVICE float exp_of(float x) { return expf(x); }
DEVICE float tan_of(float x) { return tanf(x); }
DEVICE void sine_and_cosine(float x, float& s, float& c) { s = sinf(x), c = cosf(x); }
DEVICE void sine_and_cosine_pi(double x, double& s, double& c) { s = sin(x * 3.14159265358979323846), c = cos(x * 3.14159265358979323846); }
#else
DEVICE float log_of(float x) { return __logf(x); }
DEVICE float exp_of(float x) { return __expf(x); }
DEVICE float tan_of(float x) { return __tanf(x); }
DEVICE void sine_and_cosine(float x, float& s, float& c) { __sincosf(x, &s, &c); }
DEVICE void sine_and_cosine_pi(double x, double& s, double& c) { sincospi(x, &s, &c); }
#endif
DEVICE double log_of(double x) { return log(x); }
DEVICE double exp_of(double x) { return exp(x); }
DEVICE double tan_of(double x) { return tan(x); }

// Box-Muller: two normal numbers of two even ones.
DEVICE void normal_pair(u32 x, u32 y, float& first, float& second) {
  const float angle = fmaf(float(y), 0x1p-32f * 6.2831855f, 0x1p-33f * 6.2831855f);
  const float length = sqrtf(-2.0f * logf(unit(x)));
  sine_and_cosine(angle, first, second);
  first *= length;
  second *= length;
}
DEVICE void normal_pair(const Words& w, double& first, double& second) {
  const double angle = double(u64(w.v[2]) ^ u64(w.v[3]) << 21) * 0x1p-52 + 0x1p-53;
  const double length = sqrt(-2.0 * log(unit(w.v[0], w.v[1])));
  sine_and_cosine_pi(angle, first, second);
  first *= length;
  second *= length;
}

// The numbers that the words of one counter give: four floats, two doubles.
template <class REAL> struct Units { static constexpr int count = same<REAL, double> ? 2 : 4; REAL v[count]; };
template <class REAL> DEVICE Units<REAL> even(const Words& w) {
  if constexpr (same<REAL, double>) return {unit(w.v[0], w.v[1]), unit(w.v[2], w.v[3])};
  else return {unit(w.v[0]), unit(w.v[1]), unit(w.v[2]), unit(w.v[3])};
}
template <class REAL> DEVICE Units<REAL> normal(const Words& w) {
  Units<REAL> r;
  if constexpr (same<REAL, double>) {
    normal_pair(w, r.v[0], r.v[1]);
  } else {
    normal_pair(w.v[0], w.v[1], r.v[0], r.v[1]);
    normal_pair(w.v[2], w.v[3], r.v[2], r.v[3]);
  }
  return r;
}

DEVICE float multiply_add(float x, float y, float z) { return fmaf(x, y, z); }
DEVICE double multiply_add(double x, double y, double z) { return fma(x, y, z); }
template <class REAL> constexpr REAL epsilon = same<REAL, double> ? REAL(0x1p-52) : REAL(0x1p-23);

// The distributions: an even number u of (0, 1], or a normal one, to an element. `a.a` and `a.b` are those of struct Draw.
template <class OUT, class REAL> DEVICE OUT uniform(REAL u, const RandomArguments& a) {
  const OUT low = as<OUT>(a.a), high = as<OUT>(a.b);
  const OUT width = as<OUT>(as<REAL>(high) - as<REAL>(low));
  const OUT drawn = as<OUT>(multiply_add(u, as<REAL>(width), as<REAL>(low)));
  return as<REAL>(drawn) == as<REAL>(high) ? low : drawn;  // from (low, high] to [low, high)
}
template <class OUT, class REAL> DEVICE OUT gaussian(REAL z, const RandomArguments& a) {
  return as<OUT>(multiply_add(z, REAL(a.b), REAL(a.a)));
}
template <class OUT, class REAL> DEVICE OUT log_gaussian(REAL z, const RandomArguments& a) {
  return as<OUT>(exp_of(multiply_add(z, REAL(a.b), REAL(a.a))));
}
template <class OUT, class REAL> DEVICE OUT bernoulli(REAL u, const RandomArguments& a) {
  return as<OUT>(u8(u < a.a || a.a >= 1));
}
template <class OUT, class REAL> DEVICE OUT exponential(REAL u, const RandomArguments& a) {
  return as<OUT>(REAL(-1) / REAL(a.a) * (u >= 1 - epsilon<REAL> / 2 ? -epsilon<REAL> / 2 : log_of(u)));
}
template <class OUT, class REAL> DEVICE OUT geometric(REAL u, const RandomArguments& a) {
  return as<OUT>(ceil(log_of(u) / log_of(REAL(1 - a.a))));
}
template <class OUT, class REAL> DEVICE OUT cauchy(REAL u, const RandomArguments& a) {
  const REAL inner = u > 1 - epsilon<REAL> ? 1 - epsilon<REAL> : u < epsilon<REAL> ? epsilon<REAL> : u;
  return as<OUT>(multiply_add(REAL(a.b), tan_of(REAL(3.14159265358979323846) * (inner - REAL(0.5))), REAL(a.a)));
}
template <class OUT> DEVICE OUT integer(u64 word, const RandomArguments& a) {
  return as<OUT>(i64((a.range == 0 ? word : word % a.range) + u64(a.base)));
}

#ifndef PHILOX_ONLY
// Element i is drawn by thread i mod T, T the threads of the launch: the first T elements take the first number of each
// thread's words, the next T the second one; when all are taken the counter goes up.
template <int N, class F> DEVICE void draw_all(const RandomArguments& a, const F& numbers_of) {
  const u64 threads = u64(gridDim.x) * blockDim.x;
  const u64 thread = u64(blockIdx.x) * blockDim.x + threadIdx.x;
  u64 counter = a.counter;
  for (u64 at = thread; at < a.count; ++counter) {
    const auto numbers = numbers_of(philox(a.seed, thread, counter));
    for (int k = 0; k < N; ++k, at += threads) {
      if (at < a.count) static_cast<OUT*>(a.out)[at] = DRAW(numbers.v[k], a);
    }
  }
}

#if defined(DRAW_INTEGERS)
struct Integers { u64 v[PER_COUNTER]; };
DEVICE Integers integers(const Words& w) {
#if PER_COUNTER == 2
  return {joined(w.v[0], w.v[1]), joined(w.v[2], w.v[3])};
#else
  return {w.v[0], w.v[1], w.v[2], w.v[3]};
#endif
}
extern "C" __global__ void __launch_bounds__(256) draw(const __grid_constant__ RandomArguments a) {
  draw_all<PER_COUNTER>(a, [](const Words& w) { return integers(w); });
}
#elif defined(DRAW_EACH)
// A probability for every element: thread t draws the elements 4t to 4t + 3.
extern "C" __global__ void __launch_bounds__(256) draw(const __grid_constant__ RandomArguments a) {
  const u64 thread = u64(blockIdx.x) * blockDim.x + threadIdx.x;
  const Words w = philox(a.seed, thread, a.counter);
  for (int k = 0; k < 4; ++k) {
    const u64 at = 4 * thread + k;
    if (at >= a.count) return;
    const float p = as<float>(static_cast<const EACH*>(a.each)[at]);
    if (!(p >= 0 && p <= 1)) report(a.word, a.number, kProbability, i64(at), 0);
    static_cast<OUT*>(a.out)[at] = as<OUT>(u8(unit(w.v[k]) <= p));
  }
}
#else
extern "C" __global__ void __launch_bounds__(256) draw(const __grid_constant__ RandomArguments a) {
  draw_all<Units<REAL>::count>(a, [](const Words& w) { return NUMBERS<REAL>(w); });
}
#endif
#endif
