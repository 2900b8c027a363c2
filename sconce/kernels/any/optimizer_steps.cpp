// One pass over parameters, gradients and states; 16-bit floats are converted and back.
#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <vector>

#include "sconce/base/error.h"
#include "sconce/base/parallel.h"
#include "sconce/dispatch/glue.h"
#include "sconce/kernels/cpu/cpu_level.h"
#include "sconce/kernels/cpu/optimizer_kernels.h"

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

const OptimizerKernels& optimizer_kernels() {
  return at_cpu_level(v2::optimizer_kernels, v3::optimizer_kernels, v4::optimizer_kernels);
}

// The tensors of one parameter: it, its gradient, its state. All have one size and dtype.
class Group {
 public:
  // `kernel` is what PyTorch calls it in errors. 16-bit floats are computed in float32.
  Group(const char* kernel, std::initializer_list<Tensor> tensors) : tensors_(tensors) {
    const DType dtype = tensors_[0].dtype();
    SCONCE_CHECK_AS(not_implemented, is_floating(dtype), "\"{}\" not implemented for '{}'", kernel,
                    dtype_legacy_name(dtype));
    const DType compute = dtype == DType::float64 ? DType::float64 : DType::float32;
    for (const Tensor& t : tensors_) {
      computed_.push_back(t.defined() ? contiguous_tensor(to_dtype(t, compute)) : t);
    }
  }
  int64_t size() const { return computed_[0].numel(); }
  bool is_double() const { return computed_[0].dtype() == DType::float64; }
  void* at(size_t tensor, int64_t element) const {
    const Tensor& t = computed_[tensor];
    return t.defined() ? t.data<char>() + element * static_cast<int64_t>(t.item_size()) : nullptr;
  }
  void finish() const {
    for (size_t i = 0; i < tensors_.size(); ++i) {
      if (!tensors_[i].defined()) continue;
      if (!computed_[i].is_same(tensors_[i])) copy_tensor(tensors_[i], computed_[i]);
      tensors_[i].bump_version();
    }
  }

 private:
  std::vector<Tensor> tensors_, computed_;
};

// run(group, first element, count) for all elements of all groups, on all threads.
template <class Run>
void for_elements(const std::vector<Group>& groups, const Run& run) {
  constexpr int64_t kChunk = 4096;
  struct Chunk {
    size_t group;
    int64_t first;
  };
  std::vector<Chunk> chunks;
  for (size_t g = 0; g < groups.size(); ++g) {
    for (int64_t i = 0; i < groups[g].size(); i += kChunk) chunks.push_back({g, i});
  }
  parallel_for(static_cast<int64_t>(chunks.size()), grain_for(2 * kChunk), [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) {
      const auto [g, first] = chunks[static_cast<size_t>(c)];
      run(g, first, std::min(kChunk, groups[g].size() - first));
    }
  });
  for (const Group& group : groups) group.finish();
}

void sgd(TensorList self, TensorList grads, TensorList buffers, SgdStep o, const Scaling& s) {
  check_lists("_fused_sgd_", self, {grads});
  if (!buffers.empty()) check_lists("_fused_sgd_", self, {buffers});
  if (s.skip) return;
  o.scaled = s.scaled;
  o.divisor = s.divisor;
  std::vector<Group> groups;
  for (size_t i = 0; i < self.size(); ++i) {
    if (self[i].is_meta()) continue;
    groups.emplace_back("fused_sgd_kernel",
                        std::initializer_list<Tensor>{self[i], grads[i], buffers.empty() ? Tensor() : buffers[i]});
  }
  for_elements(groups, [&](size_t i, int64_t first, int64_t count) {
    const Group& g = groups[i];
    optimizer_kernels().sgd[g.is_double()](o, g.at(0, first), g.at(1, first), g.at(2, first), count);
  });
}

void adam(TensorList self, TensorList grads, TensorList averages, TensorList squares, TensorList largest,
          TensorList steps, AdamStep o, const Scaling& s) {
  check_lists("_fused_adam_", self, {grads, averages, squares});
  if (o.amsgrad) check_lists("_fused_adam_", self, {largest});
  SCONCE_CHECK(steps.size() == self.size(), "_fused_adam_: expected {} steps, got {}", self.size(), steps.size());
  if (s.skip) return;
  o.scaled = s.scaled;
  o.divisor = s.divisor;
  std::vector<Group> groups;
  std::vector<AdamStep> options;
  for (size_t i = 0; i < self.size(); ++i) {
    if (self[i].is_meta()) continue;
    const double n = number(steps[i]);
    o.size = o.lr / (1 - std::pow(o.beta1, n));
    o.root = std::sqrt(1 - std::pow(o.beta2, n));
    options.push_back(o);
    groups.emplace_back("fused_adam_kernel", std::initializer_list<Tensor>{self[i], grads[i], averages[i], squares[i],
                                                                           o.amsgrad ? largest[i] : Tensor()});
  }
  for_elements(groups, [&](size_t i, int64_t first, int64_t count) {
    const Group& g = groups[i];
    optimizer_kernels().adam[g.is_double()](options[i], g.at(0, first), g.at(1, first), g.at(2, first), g.at(3, first),
                                            g.at(4, first), count);
  });
}

void adagrad(TensorList self, TensorList grads, TensorList sums, TensorList steps, double lr, double lr_decay,
             double weight_decay, double eps, bool maximize, const Scaling& s) {
  check_lists("_fused_adagrad_", self, {grads, sums});
  SCONCE_CHECK(steps.size() == self.size(), "_fused_adagrad_: expected {} steps, got {}", self.size(), steps.size());
  if (s.skip) return;
  std::vector<Group> groups;
  std::vector<double> rates;
  for (size_t i = 0; i < self.size(); ++i) {
    if (self[i].is_meta()) continue;
    rates.push_back(lr / (1 + (number(steps[i]) - 1) * lr_decay));
    groups.emplace_back("fused_adagrad_kernel", std::initializer_list<Tensor>{self[i], grads[i], sums[i]});
  }
  for_elements(groups, [&](size_t i, int64_t first, int64_t count) {
    const Group& g = groups[i];
    optimizer_kernels().adagrad[g.is_double()]({rates[i], weight_decay, eps, maximize, s.scaled, s.divisor},
                                               g.at(0, first), g.at(1, first), g.at(2, first), count);
  });
}

}  // namespace

void _fused_sgd_(TensorList self, TensorList grads, TensorList momentum_buffer_list, double weight_decay,
                 double momentum, double lr, double dampening, bool nesterov, bool maximize, bool is_first_step,
                 const Tensor& grad_scale, const Tensor& found_inf) {
  sgd(self, grads, momentum_buffer_list,
      {weight_decay, momentum, lr, dampening, nesterov, maximize, is_first_step, false, 1},
      scaling(grad_scale, found_inf));
}
void _fused_sgd__tensor_lr(TensorList self, TensorList grads, TensorList momentum_buffer_list, double weight_decay,
                           double momentum, const Tensor& lr, double dampening, bool nesterov, bool maximize,
                           bool is_first_step, const Tensor& grad_scale, const Tensor& found_inf) {
  sgd(self, grads, momentum_buffer_list,
      {weight_decay, momentum, number(lr), dampening, nesterov, maximize, is_first_step, false, 1},
      scaling(grad_scale, found_inf));
}

#define SCONCE_ADAM(name, decoupled)                                                                        \
  void name(TensorList self, TensorList grads, TensorList exp_avgs, TensorList exp_avg_sqs,                 \
            TensorList max_exp_avg_sqs, TensorList state_steps, double lr, double beta1, double beta2,      \
            double weight_decay, double eps, bool amsgrad, bool maximize, const Tensor& grad_scale,         \
            const Tensor& found_inf) {                                                                      \
    adam(self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps,                                  \
         {lr, beta1, beta2, weight_decay, eps, amsgrad, maximize, decoupled, false, 1, 0, 0},               \
         scaling(grad_scale, found_inf));                                                                   \
  }                                                                                                         \
  void name##_tensor_lr(TensorList self, TensorList grads, TensorList exp_avgs, TensorList exp_avg_sqs,     \
                        TensorList max_exp_avg_sqs, TensorList state_steps, const Tensor& lr, double beta1, \
                        double beta2, double weight_decay, double eps, bool amsgrad, bool maximize,         \
                        const Tensor& grad_scale, const Tensor& found_inf) {                                \
    adam(self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps,                                  \
         {number(lr), beta1, beta2, weight_decay, eps, amsgrad, maximize, decoupled, false, 1, 0, 0},       \
         scaling(grad_scale, found_inf));                                                                   \
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
