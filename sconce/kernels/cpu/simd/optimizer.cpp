// Kernels of optimiser steps: one pass over all arrays of a parameter, since a step is bound by memory.
#include "sconce/kernels/cpu/optimizer/optimizer_kernels.h"

#include "sconce/kernels/cpu/simd/row_vectors.h"

namespace sconce::SCONCE_ISA_NAMESPACE {
namespace {

// Kernels copy their numbers: for the compiler a store could otherwise change one, and each would be read
// for every vector.

constexpr unsigned kParameter = 1, kGradient = 2;

// f(v) for every vector of N arrays; those whose bit is in `written` get v back.
template <class V, int N, class F>
SCONCE_VEC void sweep(void* const* arrays, int64_t n, unsigned written, F f) {
  using T = typename Lane<V>::T;
  T* data[N];
  for (int k = 0; k < N; ++k) data[k] = static_cast<T*>(arrays[k]);
  each_vector<V>(
      n, SCONCE_LAMBDA {
        V v[N];
#pragma GCC unroll 8
        for (int k = 0; k < N; ++k) v[k] = load_some<V>(data[k] + i, part);
        f(v);
#pragma GCC unroll 8
        for (int k = 0; k < N; ++k) {
          if (written >> k & 1) store_some(data[k] + i, v[k], part);
        }
      });
}
#define SCONCE_STEP [&](V * v) __attribute__((always_inline))

template <class V>
SCONCE_VEC V number(double x) {
  return splat<V>(static_cast<typename Lane<V>::T>(x));
}

// The gradient that counts: v[0] is the parameter, v[1] the gradient, which stays as it is but for its scale.
template <class V>
SCONCE_VEC V gradient(V* v, const GradientNumbers& o) {
  if (o.divisor != 1) v[1] = v[1] / number<V>(o.divisor);
  const V g = o.maximize ? -v[1] : v[1];
  return o.weight_decay != 0 ? fma(number<V>(o.weight_decay), v[0], g) : g;
}
SCONCE_VEC unsigned scaled(const GradientNumbers& o) { return o.divisor != 1 ? kGradient : 0; }

// self.addcmul(a, b, value), self.addcdiv(a, b, value), self.lerp(end, weight)
template <class V>
SCONCE_VEC V addcmul(V self, V a, V b, double value) {
  return fma(number<V>(value) * a, b, self);
}
template <class V>
SCONCE_VEC V addcdiv(V self, V a, V b, double value) {
  return self + number<V>(value) * a / b;
}
template <class V>
SCONCE_VEC V lerp(V self, V end, double weight) {
  using T = typename Lane<V>::T;
  const V gap = end - self;
  const T w = static_cast<T>(weight);
  return (w < T(0.5) && w > T(-0.5)) ? fma(splat<V>(w), gap, self) : fma(-gap, splat<V>(1 - w), end);
}
template <class V>
SCONCE_VEC V sign(V x) {
  return select<V>(x > 0, splat<V>(1), select<V>(x < 0, splat<V>(-1), V{}));
}

template <class V>
void sgd(void* const* arrays, int64_t n, const SgdNumbers& numbers) {
  const SgdNumbers o = numbers;
  const unsigned written = kParameter | scaled(o.gradient);
  if (!o.has_buffer) {
    sweep<V, 2>(arrays, n, written, SCONCE_STEP { v[0] = fma(number<V>(-o.lr), gradient(v, o.gradient), v[0]); });
    return;
  }
  sweep<V, 3>(
      arrays, n, written | 4, SCONCE_STEP {
        const V g = gradient(v, o.gradient);
        v[2] = o.first ? g : fma(number<V>(1 - o.dampening), g, v[2] * number<V>(o.momentum));
        v[0] = fma(number<V>(-o.lr), o.nesterov ? fma(number<V>(o.momentum), v[2], g) : v[2], v[0]);
      });
}

template <class V>
SCONCE_VEC V squares(V average, V g, double beta) {
  return addcmul(average * number<V>(beta), g, g, 1 - beta);
}

// Adam's two averages, behind the decay of the parameter; the gradient.
template <class V, class Numbers>
SCONCE_VEC V moments(V* v, const Numbers& o) {
  if (o.keep != 1) v[0] = v[0] * number<V>(o.keep);
  const V g = gradient(v, o.gradient);
  v[2] = lerp(v[2], g, 1 - o.beta1);
  v[3] = squares(v[3], g, o.beta2);
  return g;
}

template <class V>
void adam(void* const* arrays, int64_t n, const AdamNumbers& numbers) {
  const AdamNumbers o = numbers;
  const auto update = [&](V* v, V square) __attribute__((always_inline)) {
    const V size = sqrt(square) / number<V>(o.correction) + number<V>(o.eps);
    v[0] = addcdiv(v[0], v[2], size, -o.step_size);
  };
  const unsigned written = kParameter | scaled(o.gradient) | 12;
  if (o.amsgrad) {
    sweep<V, 5>(
        arrays, n, written | 16, SCONCE_STEP {
          moments(v, o);
          v[4] = maximum(v[4], v[3]);
          update(v, v[4]);
        });
  } else {
    sweep<V, 4>(
        arrays, n, written, SCONCE_STEP {
          moments(v, o);
          update(v, v[3]);
        });
  }
}

template <class V>
void adagrad(void* const* arrays, int64_t n, const AdagradNumbers& numbers) {
  const AdagradNumbers o = numbers;
  sweep<V, 3>(
      arrays, n, kParameter | scaled(o.gradient) | 4, SCONCE_STEP {
        const V g = gradient(v, o.gradient);
        v[2] = addcmul(v[2], g, g, 1);
        v[0] = addcdiv(v[0], g, sqrt(v[2]) + number<V>(o.eps), -o.rate);
      });
}

template <class V, bool centered, bool momentum>
void rmsprop_step(void* const* arrays, int64_t n, const RmspropNumbers& numbers) {
  const RmspropNumbers o = numbers;
  constexpr int count = 3 + centered + momentum, buffer = count - 1;
  sweep<V, count>(
      arrays, n, (1u << count) - 1 - kGradient, SCONCE_STEP {
        const V g = gradient(v, o.gradient);
        V square = v[2] = squares(v[2], g, o.alpha);
        if constexpr (centered) {
          v[3] = lerp(v[3], g, 1 - o.alpha);
          square = addcmul(square, v[3], v[3], -1);
        }
        const V size = sqrt(square) + number<V>(o.eps);
        if constexpr (momentum) {
          v[buffer] = addcdiv(v[buffer] * number<V>(o.momentum), g, size, 1);
          v[0] = fma(number<V>(-o.lr), v[buffer], v[0]);
        } else {
          v[0] = addcdiv(v[0], g, size, -o.lr);
        }
      });
}
template <class V>
void rmsprop(void* const* arrays, int64_t n, const RmspropNumbers& o) {
  if (o.centered) {
    o.momentum > 0 ? rmsprop_step<V, true, true>(arrays, n, o) : rmsprop_step<V, true, false>(arrays, n, o);
  } else {
    o.momentum > 0 ? rmsprop_step<V, false, true>(arrays, n, o) : rmsprop_step<V, false, false>(arrays, n, o);
  }
}

template <class V>
void adadelta(void* const* arrays, int64_t n, const AdadeltaNumbers& numbers) {
  const AdadeltaNumbers o = numbers;
  sweep<V, 4>(
      arrays, n, kParameter | 12, SCONCE_STEP {
        const V g = gradient(v, o.gradient), eps = number<V>(o.eps);
        v[2] = squares(v[2], g, o.rho);
        const V delta = sqrt(v[3] + eps) / sqrt(v[2] + eps) * g;
        v[3] = squares(v[3], delta, o.rho);
        v[0] = fma(number<V>(-o.lr), delta, v[0]);
      });
}

template <class V>
void adamax(void* const* arrays, int64_t n, const AdamaxNumbers& numbers) {
  const AdamaxNumbers o = numbers;
  sweep<V, 4>(
      arrays, n, kParameter | 12, SCONCE_STEP {
        const V g = gradient(v, o.gradient);
        v[2] = lerp(v[2], g, 1 - o.beta1);
        v[3] = maximum(v[3] * number<V>(o.beta2), abs(g) + number<V>(o.eps));
        v[0] = addcdiv(v[0], v[2], v[3], -o.rate);
      });
}

template <class V>
void nadam(void* const* arrays, int64_t n, const NadamNumbers& numbers) {
  const NadamNumbers o = numbers;
  sweep<V, 4>(
      arrays, n, kParameter | 12, SCONCE_STEP {
        const V g = moments(v, o);
        const V size = sqrt(v[3] / number<V>(o.correction)) + number<V>(o.eps);
        v[0] = addcdiv(addcdiv(v[0], g, size, o.gradient_rate), v[2], size, o.average_rate);
      });
}

template <class V>
void radam(void* const* arrays, int64_t n, const RadamNumbers& numbers) {
  const RadamNumbers o = numbers;
  sweep<V, 4>(
      arrays, n, kParameter | 12, SCONCE_STEP {
        moments(v, o);
        V change = v[2] / number<V>(o.correction1) * number<V>(o.lr);
        if (o.rectification != 0) {
          const V inverse = 1 / (sqrt(v[3]) + number<V>(o.eps));
          change = change * (inverse * number<V>(o.correction2)) * number<V>(o.rectification);
        }
        v[0] = v[0] - change;
      });
}

template <class V>
void rprop(void* const* arrays, int64_t n, const RpropNumbers& numbers) {
  const RpropNumbers o = numbers;
  sweep<V, 4>(
      arrays, n, kParameter | 12, SCONCE_STEP {
        const V g = gradient(v, o.gradient), turn = g * v[2];
        const V factor =
            select<V>(turn > 0, number<V>(o.eta_plus), select<V>(turn < 0, number<V>(o.eta_minus), splat<V>(1)));
        v[3] = minimum(maximum(v[3] * factor, number<V>(o.smallest)), number<V>(o.largest));
        v[2] = select<V>(turn < 0, V{}, g);
        v[0] = addcmul(v[0], sign(v[2]), v[3], -1);
      });
}

template <class V>
void asgd(void* const* arrays, int64_t n, const AsgdNumbers& numbers) {
  const AsgdNumbers o = numbers;
  sweep<V, 3>(
      arrays, n, kParameter | 4, SCONCE_STEP {
        const V g = gradient(v, o.gradient);
        v[0] = fma(number<V>(-o.eta), g, v[0] * number<V>(o.keep));
        v[2] = o.mu == 1 ? v[0] : v[2] + (v[0] - v[2]) * number<V>(o.mu);
      });
}

}  // namespace

#define SCONCE_BOTH(step) {step<F32>, step<F64>}
extern const OptimizerKernels optimizer_kernels = {
    SCONCE_BOTH(sgd),    SCONCE_BOTH(adam),  SCONCE_BOTH(adagrad), SCONCE_BOTH(rmsprop), SCONCE_BOTH(adadelta),
    SCONCE_BOTH(adamax), SCONCE_BOTH(nadam), SCONCE_BOTH(radam),   SCONCE_BOTH(rprop),   SCONCE_BOTH(asgd)};
#undef SCONCE_BOTH

}  // namespace sconce::SCONCE_ISA_NAMESPACE
