// One pass over parameter, gradient and state of each tensor; 16-bit floats compute in float.
#include <cmath>
#include <initializer_list>

#include "sconce/base/error.h"
#include "sconce/base/parallel.h"
#include "sconce/dispatch/glue.h"
#include "sconce/kernels/cpu/visit_floats.h"
#include "sconce/tensor/element.h"

namespace sconce::any_device {
namespace {

double number(const Tensor& t) { return item_of(t).to_double(); }

struct Scaling {
  double divisor = 1;
  bool scaled = false, skip = false;
};
Scaling scaling(const Tensor& grad_scale, const Tensor& found_inf) {
  Scaling s;
  if (found_inf.defined()) s.skip = number(found_inf) == 1;
  if (grad_scale.defined()) {
    s.divisor = number(grad_scale);
    s.scaled = true;
  }
  return s;
}

void check_lists(const char* name, TensorList self, std::initializer_list<TensorList> others) {
  for (const TensorList& list : others) {
    SCONCE_CHECK(list.size() == self.size(), "{}: expected lists of {} tensors, got {}", name, self.size(),
                 list.size());
    for (size_t i = 0; i < list.size(); ++i) {
      SCONCE_CHECK(list[i].sizes() == self[i].sizes() && list[i].dtype() == self[i].dtype(),
                   "{}: params, grads and states must have the same dtype and size, got {} and {}", name,
                   self[i].sizes(), list[i].sizes());
    }
  }
}

// body(values...) for every element of tensors that have one dtype and size; each is read and written. `kernel` is what
// PyTorch calls it in errors.
template <class Body>
void for_elements(const char* kernel, std::initializer_list<Tensor> tensors, Body body) {
  Tensor dense[5];
  size_t count = 0;
  for (const Tensor& t : tensors) dense[count++] = contiguous_tensor(t);
  visit_floats(dense[0].dtype(), kernel, [&]<class T>() {
    using W = decltype(widened(T{}));
    parallel_for(dense[0].numel(), grain_for(2), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        W values[5] = {};
        for (size_t k = 0; k < count; ++k) values[k] = widened(dense[k].data<T>()[i]);
        body(values);
        for (size_t k = 0; k < count; ++k) dense[k].data<T>()[i] = narrowed<T>(values[k]);
      }
    });
  });
  count = 0;
  for (const Tensor& t : tensors) {
    if (!dense[count].is_same(t)) copy_tensor(t, dense[count]);
    t.bump_version();
    ++count;
  }
}

struct Sgd {
  double weight_decay, momentum, lr, dampening;
  bool nesterov, maximize, is_first_step;
};

void sgd(TensorList self, TensorList grads, TensorList buffers, const Sgd& o, const Scaling& s) {
  check_lists("_fused_sgd_", self, {grads});
  if (!buffers.empty()) check_lists("_fused_sgd_", self, {buffers});
  if (s.skip) return;
  for (size_t i = 0; i < self.size(); ++i) {
    if (self[i].is_meta()) continue;
    const auto step = [&]<class W>(W* v) {  // parameter, gradient, momentum
      if (s.scaled) v[1] /= static_cast<W>(s.divisor);
      W g = o.maximize ? -v[1] : v[1];
      if (o.weight_decay != 0) g += v[0] * static_cast<W>(o.weight_decay);
      if (!buffers.empty()) {
        v[2] = o.is_first_step ? g : v[2] * static_cast<W>(o.momentum) + g * static_cast<W>(1 - o.dampening);
        g = o.nesterov ? g + v[2] * static_cast<W>(o.momentum) : v[2];
      }
      v[0] -= static_cast<W>(o.lr) * g;
    };
    if (buffers.empty()) {
      for_elements("fused_sgd_kernel", {self[i], grads[i]}, step);
    } else {
      for_elements("fused_sgd_kernel", {self[i], grads[i], buffers[i]}, step);
    }
  }
}

struct Adam {
  double lr, beta1, beta2, weight_decay, eps;
  bool amsgrad, maximize, decoupled;  // decoupled: the decay of adamw
};

void adam(TensorList self, TensorList grads, TensorList averages, TensorList squares, TensorList largest,
          TensorList steps, const Adam& o, const Scaling& s) {
  check_lists("_fused_adam_", self, {grads, averages, squares});
  if (o.amsgrad) check_lists("_fused_adam_", self, {largest});
  SCONCE_CHECK(steps.size() == self.size(), "_fused_adam_: expected {} steps, got {}", self.size(), steps.size());
  if (s.skip) return;
  for (size_t i = 0; i < self.size(); ++i) {
    if (self[i].is_meta()) continue;
    const double n = number(steps[i]);
    const double first = 1 - std::pow(o.beta1, n), second = std::sqrt(1 - std::pow(o.beta2, n)), size = o.lr / first;
    const auto step = [&]<class W>(W* v) {  // parameter, gradient, average, square, largest square
      if (s.scaled) v[1] /= static_cast<W>(s.divisor);
      W g = o.maximize ? -v[1] : v[1];
      if (o.weight_decay != 0) {
        if (o.decoupled) {
          v[0] -= static_cast<W>(o.lr * o.weight_decay) * v[0];
        } else {
          g += v[0] * static_cast<W>(o.weight_decay);
        }
      }
      v[2] += (g - v[2]) * static_cast<W>(1 - o.beta1);
      v[3] = v[3] * static_cast<W>(o.beta2) + static_cast<W>(1 - o.beta2) * g * g;
      W square = v[3];
      if (o.amsgrad) square = v[4] = v[4] < square ? square : v[4];
      v[0] -= static_cast<W>(size) * v[2] / (std::sqrt(square) / static_cast<W>(second) + static_cast<W>(o.eps));
    };
    if (o.amsgrad) {
      for_elements("fused_adam_kernel", {self[i], grads[i], averages[i], squares[i], largest[i]}, step);
    } else {
      for_elements("fused_adam_kernel", {self[i], grads[i], averages[i], squares[i]}, step);
    }
  }
}

void adagrad(TensorList self, TensorList grads, TensorList sums, TensorList steps, double lr, double lr_decay,
             double weight_decay, double eps, bool maximize, const Scaling& s) {
  check_lists("_fused_adagrad_", self, {grads, sums});
  SCONCE_CHECK(steps.size() == self.size(), "_fused_adagrad_: expected {} steps, got {}", self.size(), steps.size());
  if (s.skip) return;
  for (size_t i = 0; i < self.size(); ++i) {
    if (self[i].is_meta()) continue;
    const double rate = lr / (1 + (number(steps[i]) - 1) * lr_decay);
    for_elements("fused_adagrad_kernel", {self[i], grads[i], sums[i]}, [&]<class W>(W* v) {
      if (s.scaled) v[1] /= static_cast<W>(s.divisor);
      W g = maximize ? -v[1] : v[1];
      if (weight_decay != 0) g += v[0] * static_cast<W>(weight_decay);
      v[2] += g * g;
      v[0] -= static_cast<W>(rate) * g / (std::sqrt(v[2]) + static_cast<W>(eps));
    });
  }
}

}  // namespace

void _fused_sgd_(TensorList self, TensorList grads, TensorList momentum_buffer_list, double weight_decay,
                 double momentum, double lr, double dampening, bool nesterov, bool maximize, bool is_first_step,
                 const Tensor& grad_scale, const Tensor& found_inf) {
  sgd(self, grads, momentum_buffer_list, {weight_decay, momentum, lr, dampening, nesterov, maximize, is_first_step},
      scaling(grad_scale, found_inf));
}
void _fused_sgd__tensor_lr(TensorList self, TensorList grads, TensorList momentum_buffer_list, double weight_decay,
                           double momentum, const Tensor& lr, double dampening, bool nesterov, bool maximize,
                           bool is_first_step, const Tensor& grad_scale, const Tensor& found_inf) {
  sgd(self, grads, momentum_buffer_list,
      {weight_decay, momentum, number(lr), dampening, nesterov, maximize, is_first_step},
      scaling(grad_scale, found_inf));
}

#define SCONCE_ADAM(name, decoupled)                                                                                   \
  void name(TensorList self, TensorList grads, TensorList exp_avgs, TensorList exp_avg_sqs,                            \
            TensorList max_exp_avg_sqs, TensorList state_steps, double lr, double beta1, double beta2,                 \
            double weight_decay, double eps, bool amsgrad, bool maximize, const Tensor& grad_scale,                    \
            const Tensor& found_inf) {                                                                                 \
    adam(self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps,                                             \
         {lr, beta1, beta2, weight_decay, eps, amsgrad, maximize, decoupled}, scaling(grad_scale, found_inf));         \
  }                                                                                                                    \
  void name##_tensor_lr(TensorList self, TensorList grads, TensorList exp_avgs, TensorList exp_avg_sqs,                \
                        TensorList max_exp_avg_sqs, TensorList state_steps, const Tensor& lr, double beta1,            \
                        double beta2, double weight_decay, double eps, bool amsgrad, bool maximize,                    \
                        const Tensor& grad_scale, const Tensor& found_inf) {                                           \
    adam(self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps,                                             \
         {number(lr), beta1, beta2, weight_decay, eps, amsgrad, maximize, decoupled}, scaling(grad_scale, found_inf)); \
  }
SCONCE_ADAM(_fused_adam_, false)
SCONCE_ADAM(_fused_adamw_, true)
#undef SCONCE_ADAM

void _fused_adagrad_(TensorList self, TensorList grads, TensorList state_sums, TensorList state_steps, double lr,
                     double lr_decay, double weight_decay, double eps, bool maximize, const Tensor& grad_scale,
                     const Tensor& found_inf) {
  adagrad(self, grads, state_sums, state_steps, lr, lr_decay, weight_decay, eps, maximize,
          scaling(grad_scale, found_inf));
}
void _fused_adagrad__tensor_lr(TensorList self, TensorList grads, TensorList state_sums, TensorList state_steps,
                               const Tensor& lr, double lr_decay, double weight_decay, double eps, bool maximize,
                               const Tensor& grad_scale, const Tensor& found_inf) {
  adagrad(self, grads, state_sums, state_steps, number(lr), lr_decay, weight_decay, eps, maximize,
          scaling(grad_scale, found_inf));
}

}  // namespace sconce::any_device
