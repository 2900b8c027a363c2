// Optimiser kernels: steps of gradient descent and its kin, per instruction set level: [0] float, [1] double. A step is
// one pass over a parameter, its gradient and its state; it rounds where PyTorch's chains of operators round.
#pragma once

#include <cstdint>

#include "sconce/kernels/cpu/engine/levels.h"

namespace sconce {

// The changes to a gradient before the step.
struct GradientNumbers {
  double divisor = 1;  // of a gradient scaler; if it is not 1, the gradient is written back divided
  bool maximize = false;
  double weight_decay = 0;  // times the parameter, added
};

// `arrays` begins with the parameter and its gradient. Those behind them are named here.
struct SgdNumbers {  // momentum buffer, where there is one
  GradientNumbers gradient;
  double lr, momentum, dampening;
  bool nesterov, has_buffer, first;  // first: the buffer has no value yet
};
struct AdamNumbers {  // average, average of squares, their maximum (amsgrad)
  GradientNumbers gradient;
  double keep;  // the parameter is multiplied by it first: the decay of AdamW; 1: none
  double step_size, beta1, beta2, eps, correction;  // correction: sqrt(1 - beta2^step)
  bool amsgrad;
};
struct AdagradNumbers {  // sum of squares
  GradientNumbers gradient;
  double rate, eps;
};
struct RmspropNumbers {  // average of squares, [average (centered)], [momentum buffer]
  GradientNumbers gradient;
  double lr, alpha, eps, momentum;
  bool centered;
};
struct AdadeltaNumbers {  // average of squares, average of squared updates
  GradientNumbers gradient;
  double lr, rho, eps;
};
struct AdamaxNumbers {  // average, largest gradient
  GradientNumbers gradient;
  double rate, beta1, beta2, eps;
};
struct NadamNumbers {  // average, average of squares
  GradientNumbers gradient;
  double keep, beta1, beta2, eps, correction;  // correction: 1 - beta2^step
  double gradient_rate, average_rate;
};
struct RadamNumbers {  // average, average of squares
  GradientNumbers gradient;
  double keep, lr, beta1, beta2, eps, correction1, correction2;  // 1 - beta1^step, sqrt(1 - beta2^step)
  double rectification;                                          // 0: the variance is not used yet
};
struct RpropNumbers {  // previous gradient, step size
  GradientNumbers gradient;
  double eta_minus, eta_plus, smallest, largest;
};
struct AsgdNumbers {  // averaged parameter
  GradientNumbers gradient;
  double eta, keep, mu;
};

struct OptimizerKernels {
  template <class Numbers>
  using Step = void (*)(void* const* arrays, int64_t n, const Numbers& numbers);
  Step<SgdNumbers> sgd[2];
  Step<AdamNumbers> adam[2];
  Step<AdagradNumbers> adagrad[2];
  Step<RmspropNumbers> rmsprop[2];
  Step<AdadeltaNumbers> adadelta[2];
  Step<AdamaxNumbers> adamax[2];
  Step<NadamNumbers> nadam[2];
  Step<RadamNumbers> radam[2];
  Step<RpropNumbers> rprop[2];
  Step<AsgdNumbers> asgd[2];
};

SCONCE_AT_EACH_LEVEL(extern const OptimizerKernels optimizer_kernels;)

// The table for this machine.
const OptimizerKernels& optimizer_kernels();

}  // namespace sconce
