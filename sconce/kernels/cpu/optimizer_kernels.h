// Steps of optimisers on runs of elements, per instruction set level. [0] float, [1] double.
#pragma once

#include <cstdint>

namespace sconce {

// A gradient is divided by `divisor` where it was scaled, and what is left of it written back.
struct SgdStep {
  double weight_decay, momentum, lr, dampening;
  bool nesterov, maximize, is_first_step, scaled;
  double divisor;
};
struct AdamStep {
  double lr, beta1, beta2, weight_decay, eps;
  bool amsgrad, maximize, decoupled;  // decoupled: the decay of adamw
  bool scaled;
  double divisor;
  double size, root;  // lr / (1 - beta1^n), sqrt(1 - beta2^n) at step n
};
struct AdagradStep {
  double rate, weight_decay, eps;
  bool maximize, scaled;
  double divisor;
};

struct OptimizerKernels {
  void (*sgd[2])(const SgdStep& step, void* parameter, void* grad, void* momentum, int64_t n);  // momentum may be null
  void (*adam[2])(const AdamStep& step, void* parameter, void* grad, void* average, void* square, void* largest,
                  int64_t n);
  void (*adagrad[2])(const AdagradStep& step, void* parameter, void* grad, void* sum, int64_t n);
};

namespace v2 {
extern const OptimizerKernels optimizer_kernels;
}
namespace v3 {
extern const OptimizerKernels optimizer_kernels;
}
namespace v4 {
extern const OptimizerKernels optimizer_kernels;
}

}  // namespace sconce
