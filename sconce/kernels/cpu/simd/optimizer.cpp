#include "sconce/kernels/cpu/optimizer_kernels.h"

#include "sconce/kernels/cpu/simd/row.h"

namespace sconce::SCONCE_ISA_NAMESPACE {
namespace {

// A run of elements as vectors. Null stands for a tensor that the step has not.
template <class V>
struct Run {
  using T = typename Lane<V>::T;
  T* data;
  explicit Run(void* p) : data(static_cast<T*>(p)) {}
  V get(int64_t i, int64_t part) const { return load_some<V>(data + i, part); }
  void set(int64_t i, V v, int64_t part) const { store_some<V>(data + i, v, part); }
};

template <class V>
V number(double x) {
  return splat<V>(static_cast<typename Lane<V>::T>(x));
}

template <class V, class F>
SCONCE_VEC void each_vector(int64_t n, F f) {
  int64_t i = 0;
  for (; i + lanes<V> <= n; i += lanes<V>) f(i, lanes<V>);
  if (i < n) f(i, n - i);
}

// The gradient that the step works with; unscaled gradients stay behind.
template <class V, class Step>
SCONCE_VEC V gradient(const Step& o, const Run<V>& grads, V divisor, int64_t i, int64_t part) {
  V g = grads.get(i, part);
  if (o.scaled) {
    g = g / divisor;
    grads.set(i, g, part);
  }
  return o.maximize ? -g : g;
}

template <class V>
void sgd(const SgdStep& o, void* parameter, void* grad, void* momentum, int64_t n) {
  const Run<V> p(parameter), gs(grad), b(momentum);
  const V divisor = number<V>(o.divisor), decay = number<V>(o.weight_decay), keep = number<V>(o.momentum),
          take = number<V>(1 - o.dampening), rate = number<V>(o.lr);
  each_vector<V>(n, [&](int64_t i, int64_t part) __attribute__((always_inline)) {
    const V old = p.get(i, part);
    V g = gradient(o, gs, divisor, i, part);
    if (o.weight_decay != 0) g = g + old * decay;
    if (b.data) {
      const V next = o.is_first_step ? g : b.get(i, part) * keep + g * take;
      b.set(i, next, part);
      g = o.nesterov ? g + next * keep : next;
    }
    p.set(i, old - rate * g, part);
  });
}

template <class V>
void adam(const AdamStep& o, void* parameter, void* grad, void* average, void* square, void* largest, int64_t n) {
  const Run<V> p(parameter), gs(grad), m(average), s(square), top(largest);
  const V divisor = number<V>(o.divisor), decay = number<V>(o.weight_decay), shrink = number<V>(o.lr * o.weight_decay),
          take = number<V>(1 - o.beta1), keep = number<V>(o.beta2), take_square = number<V>(1 - o.beta2),
          size = number<V>(o.size), root = number<V>(o.root), eps = number<V>(o.eps);
  each_vector<V>(n, [&](int64_t i, int64_t part) __attribute__((always_inline)) {
    V x = p.get(i, part), g = gradient(o, gs, divisor, i, part);
    if (o.weight_decay != 0) {
      if (o.decoupled) {
        x = x - shrink * x;
      } else {
        g = g + x * decay;
      }
    }
    V mean = m.get(i, part);
    mean = mean + (g - mean) * take;
    m.set(i, mean, part);
    V power = s.get(i, part) * keep + take_square * g * g;
    s.set(i, power, part);
    if (o.amsgrad) {
      const V before = top.get(i, part);
      power = before < power ? power : before;
      top.set(i, power, part);
    }
    p.set(i, x - size * mean / (sqrt(power) / root + eps), part);
  });
}

template <class V>
void adagrad(const AdagradStep& o, void* parameter, void* grad, void* sum, int64_t n) {
  const Run<V> p(parameter), gs(grad), s(sum);
  const V divisor = number<V>(o.divisor), decay = number<V>(o.weight_decay), rate = number<V>(o.rate),
          eps = number<V>(o.eps);
  each_vector<V>(n, [&](int64_t i, int64_t part) __attribute__((always_inline)) {
    const V old = p.get(i, part);
    V g = gradient(o, gs, divisor, i, part);
    if (o.weight_decay != 0) g = g + old * decay;
    const V total = s.get(i, part) + g * g;
    s.set(i, total, part);
    p.set(i, old - rate * g / (sqrt(total) + eps), part);
  });
}

}  // namespace

extern const OptimizerKernels optimizer_kernels = {
    {sgd<F32>, sgd<F64>}, {adam<F32>, adam<F64>}, {adagrad<F32>, adagrad<F64>}};

}  // namespace sconce::SCONCE_ISA_NAMESPACE
