// Steps of optimisers whose numbers differ from parameter to parameter, on CUDA devices (text/optimizer/step.cuh).
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include <fmt/format.h>

#include "sconce/base/error.h"
#include "sconce/generated/optimizer_cuda_kernels.h"
#include "sconce/kernels/cuda/device/launch.h"
#include "sconce/kernels/cuda/layers/same_layout.h"
#include "sconce/kernels/cuda/row_kernels.h"
#include "sconce/kernels/cuda/shared_types.h"
#include "sconce/kernels/cuda/texts.h"
#include "sconce/ops.h"
#include "sconce/tensor/element.h"

namespace sconce::cuda {
namespace {

#include "sconce/kernels/cuda/text/optimizer/step_arguments.cuh"

constexpr size_t kTogether = 16;
constexpr int64_t kBlock = 4096;

using Numbers = std::array<double, 8>;
double number(const Tensor& t) { return item_of(t).to_double(); }

struct Rule {
  const char* name;    // of the operator
  const char* define;  // in the text
  bool maximize;
  double weight_decay;
  std::function<Numbers(size_t)> numbers;  // of a parameter
  int centered = 0, momentum = 0;
  const Tensor* scale = nullptr;
  const Tensor* found_inf = nullptr;
};

const float* number_at(const Rule& rule, const Tensor* t, const char* what) {
  if (!t || !t->defined()) return nullptr;
  SCONCE_CHECK(t->dtype() == DType::float32 && t->device().type == DeviceType::cuda,
               "{}: {} must be a float32 tensor on the device of the parameters, got {} on {}", rule.name, what,
               dtype_name(t->dtype()), to_string(t->device()));
  return static_cast<const float*>(t->data());
}

// Lists beside the parameters: gradients and what is kept.
void sweep(const Rule& rule, std::initializer_list<TensorList> lists) {
  const TensorList parameters = *lists.begin();
  for (const TensorList list : lists) {
    SCONCE_CHECK(list.size() == parameters.size(), "{}: lists of {} and {} tensors", rule.name, parameters.size(),
                 list.size());
  }
  size_t first = 0;
  while (first < parameters.size()) {
    StepArguments a{};
    a.maximize = rule.maximize ? 1 : 0;
    a.weight_decay = rule.weight_decay;
    a.scale = number_at(rule, rule.scale, "grad_scale");
    a.found_inf = number_at(rule, rule.found_inf, "found_inf");
    const DType dtype = parameters[first].dtype();
    const Device device = parameters[first].device();
    size_t next = first;
    u32 blocks = 0;
    SameLayout layout;
    for (; next < parameters.size() && next - first < kTogether && parameters[next].dtype() == dtype; ++next) {
      const size_t at = next - first;
      int k = 0;
      for (const TensorList list : lists) {
        const Tensor& t = list[next];
        SCONCE_CHECK(t.dtype() == dtype && t.numel() == parameters[next].numel() && t.device() == device,
                     "{}: tensors of a parameter must be of one dtype, size and device; got {} {} beside {} {}",
                     rule.name, dtype_name(t.dtype()), t.sizes(), dtype_name(dtype), parameters[next].sizes());
        a.data[k][at] = layout.take(t, parameters[next], k != 1 || a.scale != nullptr);
        ++k;
      }
      const Numbers numbers = rule.numbers(next);
      std::copy(numbers.begin(), numbers.end(), a.number[at]);
      a.size[at] = parameters[next].numel();
      a.first_block[at] = blocks;
      blocks += static_cast<u32>((a.size[at] + kBlock - 1) / kBlock);
    }
    a.count = static_cast<int>(next - first);
    a.first_block[a.count] = blocks;
    if (blocks > 0) {
      const Kernel& kernel = find_kernel(
          device, fmt::format("step/{}.{}/{}{}", rule.define, static_cast<int>(dtype), rule.centered, rule.momentum),
          [&] {
            std::string out =
                vocabulary(false, 0, false) + compute_lines(dtype == DType::float64 ? Compute::f64 : Compute::f32);
            out += fmt::format("using T = {};\n#define {} 1\n#define CENTERED {}\n#define MOMENTUM {}\n",
                               stored_type(dtype), rule.define, rule.centered, rule.momentum);
            out += text_file("step_arguments");
            out += text_file("step");
            return out;
          },
          "step");
      Shape shape;
      shape.grid_x = blocks;
      shape.block_x = 256;
      launch(device, kernel, shape, &a, sizeof a, rule.name);
      layout.give_back();
    }
    first = next;
  }
  int k = 0;
  for (const TensorList list : lists) {
    if (k++ != 1 || (rule.scale && rule.scale->defined())) {
      for (const Tensor& t : list) t.bump_version();
    }
  }
}

void check_steps(const char* name, TensorList parameters, TensorList steps) {
  SCONCE_CHECK(steps.size() == parameters.size(), "{}: expected {} steps, got {}", name, parameters.size(),
               steps.size());
}

void adagrad(TensorList self, TensorList grads, TensorList sums, TensorList steps, double lr, double lr_decay,
             double weight_decay, double eps, bool maximize, const Tensor& grad_scale, const Tensor& found_inf) {
  check_steps("_fused_adagrad_", self, steps);
  Rule rule{"_fused_adagrad_", "ADAGRAD", maximize, weight_decay,
            [&](size_t i) { return Numbers{lr / (1 + (number(steps[i]) - 1) * lr_decay), eps}; }};
  rule.scale = &grad_scale;
  rule.found_inf = &found_inf;
  sweep(rule, {self, grads, sums});
}

}  // namespace

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
  Rule rule{"fused_rmsprop_", "RMSPROP", maximize, weight_decay,
            [&](size_t) { return Numbers{lr, alpha, eps, momentum}; }};
  rule.centered = centered ? 1 : 0;
  rule.momentum = momentum > 0 ? 1 : 0;
  if (centered && momentum > 0) {
    sweep(rule, {self, grads, square_avgs, grad_avgs, momentum_buffer_list});
  } else if (centered) {
    sweep(rule, {self, grads, square_avgs, grad_avgs});
  } else if (momentum > 0) {
    sweep(rule, {self, grads, square_avgs, momentum_buffer_list});
  } else {
    sweep(rule, {self, grads, square_avgs});
  }
}

void sconce_fused_adadelta_(TensorList self, TensorList grads, TensorList square_avgs, TensorList acc_deltas, double lr,
                            double rho, double eps, double weight_decay, bool maximize) {
  sweep({"fused_adadelta_", "ADADELTA", maximize, weight_decay, [&](size_t) { return Numbers{lr, rho, eps}; }},
        {self, grads, square_avgs, acc_deltas});
}

void sconce_fused_adamax_(TensorList self, TensorList grads, TensorList exp_avgs, TensorList exp_infs,
                          TensorList state_steps, double lr, double beta1, double beta2, double eps,
                          double weight_decay, bool maximize) {
  check_steps("fused_adamax_", self, state_steps);
  sweep({"fused_adamax_", "ADAMAX", maximize, weight_decay,
         [&](size_t i) { return Numbers{lr / (1 - std::pow(beta1, number(state_steps[i]))), beta1, beta2, eps}; }},
        {self, grads, exp_avgs, exp_infs});
}

void sconce_fused_nadam_(TensorList self, TensorList grads, TensorList exp_avgs, TensorList exp_avg_sqs,
                         TensorList mu_products, TensorList state_steps, double lr, double beta1, double beta2,
                         double eps, double weight_decay, double momentum_decay, bool decoupled_weight_decay,
                         bool maximize) {
  check_steps("fused_nadam_", self, state_steps);
  SCONCE_CHECK(mu_products.size() == self.size(), "fused_nadam_: expected {} products, got {}", self.size(),
               mu_products.size());
  const bool decays = decoupled_weight_decay && weight_decay != 0;
  sweep({"fused_nadam_", "NADAM", maximize, decoupled_weight_decay ? 0 : weight_decay,
         [&](size_t i) {
           const double n = number(state_steps[i]), product = number(mu_products[i]);
           const auto momentum = [&](double at) { return beta1 * (1 - 0.5 * std::pow(0.96, at * momentum_decay)); };
           const double now = momentum(n), next = momentum(n + 1);
           return Numbers{decays ? 1 - lr * weight_decay : 1,
                          beta1,
                          beta2,
                          eps,
                          1 - std::pow(beta2, n),
                          -lr * (1 - now) / (1 - product),
                          -lr * next / (1 - product * next)};
         }},
        {self, grads, exp_avgs, exp_avg_sqs});
}

void sconce_fused_radam_(TensorList self, TensorList grads, TensorList exp_avgs, TensorList exp_avg_sqs,
                         TensorList state_steps, double lr, double beta1, double beta2, double eps, double weight_decay,
                         bool decoupled_weight_decay, bool maximize) {
  check_steps("fused_radam_", self, state_steps);
  const bool decays = decoupled_weight_decay && weight_decay != 0;
  sweep({"fused_radam_", "RADAM", maximize, decoupled_weight_decay ? 0 : weight_decay,
         [&](size_t i) {
           const double n = number(state_steps[i]), second = 1 - std::pow(beta2, n), longest = 2 / (1 - beta2) - 1;
           const double length = longest - 2 * n * std::pow(beta2, n) / second;
           const double rectification =
               std::sqrt((length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length));
           return Numbers{
               decays ? 1 - lr * weight_decay : 1, lr, beta1, beta2, eps, 1 - std::pow(beta1, n), std::sqrt(second),
               length > 5 ? rectification : 0};
         }},
        {self, grads, exp_avgs, exp_avg_sqs});
}

void sconce_fused_rprop_(TensorList self, TensorList grads, TensorList prevs, TensorList step_sizes, double etaminus,
                         double etaplus, double step_size_min, double step_size_max, bool maximize) {
  sweep({"fused_rprop_", "RPROP", maximize, 0,
         [&](size_t) { return Numbers{etaminus, etaplus, step_size_min, step_size_max}; }},
        {self, grads, prevs, step_sizes});
}

void sconce_fused_asgd_(TensorList self, TensorList grads, TensorList axs, TensorList mus, TensorList etas,
                        double lambd, double weight_decay, bool maximize) {
  SCONCE_CHECK(mus.size() == self.size() && etas.size() == self.size(), "fused_asgd_: expected {} mus, got {}",
               self.size(), mus.size());
  sweep({"fused_asgd_", "ASGD", maximize, weight_decay,
         [&](size_t i) {
           const double eta = number(etas[i]);
           return Numbers{eta, 1 - lambd * eta, number(mus[i])};
         }},
        {self, grads, axs});
}

}  // namespace sconce::cuda
