// Steps of optimisers on lists of parameters: the numbers of each parameter's step, then one pass over all of them.
#include <cmath>

#include "sconce/base/error.h"
#include "sconce/generated/optimizer_kernels.h"
#include "sconce/kernels/cpu/engine/cpu_level.h"
#include "sconce/kernels/cpu/optimizer/optimizer_kernels.h"
#include "sconce/kernels/cpu/optimizer/parameter_sweep.h"

namespace sconce {

const OptimizerKernels& optimizer_kernels() { return at_cpu_level(SCONCE_OF_EACH_LEVEL(optimizer_kernels)); }

namespace cpu {
namespace {

double number(const Tensor& t) { return item_of(t).to_double(); }

// A gradient scaler found infinities: the step is left out.
bool skipped(const Tensor& found_inf) { return found_inf.defined() && number(found_inf) == 1; }
GradientNumbers gradient(bool maximize, double weight_decay, const Tensor& grad_scale = {}) {
  return {grad_scale.defined() ? number(grad_scale) : 1, maximize, weight_decay};
}
unsigned grads_written(const Tensor& grad_scale) { return grad_scale.defined() ? 2 : 0; }

// The numbers of one parameter's step, from the number of the step.
template <class Numbers, class F>
std::vector<Numbers> for_steps(const char* name, TensorList parameters, TensorList steps, F f) {
  SCONCE_CHECK(steps.size() == parameters.size(), "{}: expected {} steps, got {}", name, parameters.size(),
               steps.size());
  std::vector<Numbers> numbers;
  numbers.reserve(steps.size());
  for (const Tensor& step : steps) numbers.push_back(step.is_meta() ? Numbers{} : f(number(step)));
  return numbers;
}

template <class Numbers>
void sweep(const char* name, const char* kernel, std::initializer_list<TensorList> lists, unsigned written,
           const OptimizerKernels::Step<Numbers> (&step)[2], const std::vector<Numbers>& numbers) {
  sweep_parameters(name, kernel, lists, written, [&](size_t i, bool is_double, void* const* arrays, int64_t n) {
    step[is_double](arrays, n, numbers.size() == 1 ? numbers[0] : numbers[i]);
  });
}

void sgd(TensorList self, TensorList grads, TensorList buffers, double weight_decay, double momentum, double lr,
         double dampening, bool nesterov, bool maximize, bool is_first_step, const Tensor& grad_scale,
         const Tensor& found_inf) {
  const std::vector<SgdNumbers> numbers = {{gradient(maximize, weight_decay, grad_scale), lr, momentum, dampening,
                                            nesterov, !buffers.empty(), is_first_step}};
  if (skipped(found_inf)) return;
  const unsigned written = 1 | grads_written(grad_scale);
  if (buffers.empty()) {
    sweep("_fused_sgd_", "fused_sgd_kernel", {self, grads}, written, optimizer_kernels().sgd, numbers);
  } else {
    sweep("_fused_sgd_", "fused_sgd_kernel", {self, grads, buffers}, written | 4, optimizer_kernels().sgd, numbers);
  }
}

void adam(TensorList self, TensorList grads, TensorList averages, TensorList squares, TensorList largest,
          TensorList steps, double lr, double beta1, double beta2, double weight_decay, double eps, bool amsgrad,
          bool maximize, bool decoupled, const Tensor& grad_scale, const Tensor& found_inf) {
  const auto numbers = for_steps<AdamNumbers>("_fused_adam_", self, steps, [&](double n) -> AdamNumbers {
    const double first = 1 - std::pow(beta1, n), second = 1 - std::pow(beta2, n);
    const bool decays = decoupled && weight_decay != 0;
    return {gradient(maximize, decoupled ? 0 : weight_decay, grad_scale),
            decays ? 1 - lr * weight_decay : 1,
            lr / first,
            beta1,
            beta2,
            eps,
            std::sqrt(second),
            amsgrad};
  });
  if (skipped(found_inf)) return;
  const unsigned written = 1 | 4 | 8 | grads_written(grad_scale);
  const auto& step = optimizer_kernels().adam;
  if (amsgrad) {
    sweep("_fused_adam_", "fused_adam_kernel", {self, grads, averages, squares, largest}, written | 16, step, numbers);
  } else {
    sweep("_fused_adam_", "fused_adam_kernel", {self, grads, averages, squares}, written, step, numbers);
  }
}

void adagrad(TensorList self, TensorList grads, TensorList sums, TensorList steps, double lr, double lr_decay,
             double weight_decay, double eps, bool maximize, const Tensor& grad_scale, const Tensor& found_inf) {
  const auto numbers = for_steps<AdagradNumbers>("_fused_adagrad_", self, steps, [&](double n) -> AdagradNumbers {
    return {gradient(maximize, weight_decay, grad_scale), lr / (1 + (n - 1) * lr_decay), eps};
  });
  if (skipped(found_inf)) return;
  sweep("_fused_adagrad_", "fused_adagrad_kernel", {self, grads, sums}, 1 | 4 | grads_written(grad_scale),
        optimizer_kernels().adagrad, numbers);
}

}  // namespace

void _fused_sgd_(TensorList self, TensorList grads, TensorList momentum_buffer_list, double weight_decay,
                 double momentum, double lr, double dampening, bool nesterov, bool maximize, bool is_first_step,
                 const Tensor& grad_scale, const Tensor& found_inf) {
  sgd(self, grads, momentum_buffer_list, weight_decay, momentum, lr, dampening, nesterov, maximize, is_first_step,
      grad_scale, found_inf);
}
void _fused_sgd__tensor_lr(TensorList self, TensorList grads, TensorList momentum_buffer_list, double weight_decay,
                           double momentum, const Tensor& lr, double dampening, bool nesterov, bool maximize,
                           bool is_first_step, const Tensor& grad_scale, const Tensor& found_inf) {
  sgd(self, grads, momentum_buffer_list, weight_decay, momentum, number(lr), dampening, nesterov, maximize,
      is_first_step, grad_scale, found_inf);
}

#define SCONCE_ADAM(name, decoupled)                                                                               \
  void name(TensorList self, TensorList grads, TensorList exp_avgs, TensorList exp_avg_sqs,                        \
            TensorList max_exp_avg_sqs, TensorList state_steps, double lr, double beta1, double beta2,             \
            double weight_decay, double eps, bool amsgrad, bool maximize, const Tensor& grad_scale,                \
            const Tensor& found_inf) {                                                                             \
    adam(self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, lr, beta1, beta2, weight_decay, eps,    \
         amsgrad, maximize, decoupled, grad_scale, found_inf);                                                     \
  }                                                                                                                \
  void name##_tensor_lr(TensorList self, TensorList grads, TensorList exp_avgs, TensorList exp_avg_sqs,            \
                        TensorList max_exp_avg_sqs, TensorList state_steps, const Tensor& lr, double beta1,        \
                        double beta2, double weight_decay, double eps, bool amsgrad, bool maximize,                \
                        const Tensor& grad_scale, const Tensor& found_inf) {                                       \
    adam(self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, number(lr), beta1, beta2, weight_decay, \
         eps, amsgrad, maximize, decoupled, grad_scale, found_inf);                                                \
  }
SCONCE_ADAM(_fused_adam_, false)
SCONCE_ADAM(_fused_adamw_, true)
#undef SCONCE_ADAM

void _fused_adagrad_(TensorList self, TensorList grads, TensorList state_sums, TensorList state_steps, double lr,
                     double lr_decay, double weight_decay, double eps, bool maximize, const Tensor& grad_scale,
                     const Tensor& found_inf) {
  adagrad(self, grads, state_sums, state_steps, lr, lr_decay, weight_decay, eps, maximize, grad_scale, found_inf);
}
void _fused_adagrad__tensor_lr(TensorList self, TensorList grads, TensorList state_sums, TensorList state_steps,
                               const Tensor& lr, double lr_decay, double weight_decay, double eps, bool maximize,
                               const Tensor& grad_scale, const Tensor& found_inf) {
  adagrad(self, grads, state_sums, state_steps, number(lr), lr_decay, weight_decay, eps, maximize, grad_scale,
          found_inf);
}

void sconce_fused_rmsprop_(TensorList self, TensorList grads, TensorList square_avgs, TensorList grad_avgs,
                           TensorList momentum_buffer_list, double lr, double alpha, double eps, double weight_decay,
                           double momentum, bool centered, bool maximize) {
  const std::vector<RmspropNumbers> numbers = {{gradient(maximize, weight_decay), lr, alpha, eps, momentum, centered}};
  const char *name = "fused_rmsprop_", *kernel = "fused_rmsprop_kernel";
  const auto& step = optimizer_kernels().rmsprop;
  if (centered && momentum > 0) {
    sweep(name, kernel, {self, grads, square_avgs, grad_avgs, momentum_buffer_list}, 1 | 28, step, numbers);
  } else if (centered) {
    sweep(name, kernel, {self, grads, square_avgs, grad_avgs}, 1 | 12, step, numbers);
  } else if (momentum > 0) {
    sweep(name, kernel, {self, grads, square_avgs, momentum_buffer_list}, 1 | 12, step, numbers);
  } else {
    sweep(name, kernel, {self, grads, square_avgs}, 1 | 4, step, numbers);
  }
}

void sconce_fused_adadelta_(TensorList self, TensorList grads, TensorList square_avgs, TensorList acc_deltas, double lr,
                            double rho, double eps, double weight_decay, bool maximize) {
  sweep<AdadeltaNumbers>("fused_adadelta_", "fused_adadelta_kernel", {self, grads, square_avgs, acc_deltas}, 1 | 12,
                         optimizer_kernels().adadelta, {{gradient(maximize, weight_decay), lr, rho, eps}});
}

void sconce_fused_adamax_(TensorList self, TensorList grads, TensorList exp_avgs, TensorList exp_infs,
                          TensorList state_steps, double lr, double beta1, double beta2, double eps,
                          double weight_decay, bool maximize) {
  const auto numbers = for_steps<AdamaxNumbers>("fused_adamax_", self, state_steps, [&](double n) -> AdamaxNumbers {
    return {gradient(maximize, weight_decay), lr / (1 - std::pow(beta1, n)), beta1, beta2, eps};
  });
  sweep("fused_adamax_", "fused_adamax_kernel", {self, grads, exp_avgs, exp_infs}, 1 | 12, optimizer_kernels().adamax,
        numbers);
}

void sconce_fused_nadam_(TensorList self, TensorList grads, TensorList exp_avgs, TensorList exp_avg_sqs,
                         TensorList mu_products, TensorList state_steps, double lr, double beta1, double beta2,
                         double eps, double weight_decay, double momentum_decay, bool decoupled_weight_decay,
                         bool maximize) {
  SCONCE_CHECK(mu_products.size() == self.size(), "fused_nadam_: expected {} products, got {}", self.size(),
               mu_products.size());
  size_t i = 0;
  const auto numbers = for_steps<NadamNumbers>("fused_nadam_", self, state_steps, [&](double n) -> NadamNumbers {
    const auto momentum = [&](double at) { return beta1 * (1 - 0.5 * std::pow(0.96, at * momentum_decay)); };
    const double product = number(mu_products[i++]), now = momentum(n), next = momentum(n + 1);
    const bool decays = decoupled_weight_decay && weight_decay != 0;
    return {gradient(maximize, decoupled_weight_decay ? 0 : weight_decay),
            decays ? 1 - lr * weight_decay : 1,
            beta1,
            beta2,
            eps,
            1 - std::pow(beta2, n),
            -lr * (1 - now) / (1 - product),
            -lr * next / (1 - product * next)};
  });
  sweep("fused_nadam_", "fused_nadam_kernel", {self, grads, exp_avgs, exp_avg_sqs}, 1 | 12, optimizer_kernels().nadam,
        numbers);
}

void sconce_fused_radam_(TensorList self, TensorList grads, TensorList exp_avgs, TensorList exp_avg_sqs,
                         TensorList state_steps, double lr, double beta1, double beta2, double eps, double weight_decay,
                         bool decoupled_weight_decay, bool maximize) {
  const auto numbers = for_steps<RadamNumbers>("fused_radam_", self, state_steps, [&](double n) -> RadamNumbers {
    const double second = 1 - std::pow(beta2, n), longest = 2 / (1 - beta2) - 1;
    const double length = longest - 2 * n * std::pow(beta2, n) / second;  // of the average that is as good, so far
    const double rectification =
        std::sqrt((length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length));
    const bool decays = decoupled_weight_decay && weight_decay != 0;
    return {gradient(maximize, decoupled_weight_decay ? 0 : weight_decay),
            decays ? 1 - lr * weight_decay : 1,
            lr,
            beta1,
            beta2,
            eps,
            1 - std::pow(beta1, n),
            std::sqrt(second),
            length > 5 ? rectification : 0};
  });
  sweep("fused_radam_", "fused_radam_kernel", {self, grads, exp_avgs, exp_avg_sqs}, 1 | 12, optimizer_kernels().radam,
        numbers);
}

void sconce_fused_rprop_(TensorList self, TensorList grads, TensorList prevs, TensorList step_sizes, double etaminus,
                         double etaplus, double step_size_min, double step_size_max, bool maximize) {
  sweep<RpropNumbers>("fused_rprop_", "fused_rprop_kernel", {self, grads, prevs, step_sizes}, 1 | 12,
                      optimizer_kernels().rprop,
                      {{gradient(maximize, 0), etaminus, etaplus, step_size_min, step_size_max}});
}

void sconce_fused_asgd_(TensorList self, TensorList grads, TensorList axs, TensorList mus, TensorList etas,
                        double lambd, double weight_decay, bool maximize) {
  SCONCE_CHECK(mus.size() == self.size(), "fused_asgd_: expected {} mus, got {}", self.size(), mus.size());
  size_t i = 0;
  const auto numbers = for_steps<AsgdNumbers>("fused_asgd_", self, etas, [&](double eta) -> AsgdNumbers {
    return {gradient(maximize, weight_decay), eta, 1 - lambd * eta, number(mus[i++])};
  });
  sweep("fused_asgd_", "fused_asgd_kernel", {self, grads, axs}, 1 | 4, optimizer_kernels().asgd, numbers);
}

}  // namespace cpu
}  // namespace sconce
