// Steps of optimisers on CUDA devices: one kernel over up to 24 parameters at a time (text/optimizer.cuh).
#include <algorithm>

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

#include "sconce/kernels/cuda/text/optimizer_arguments.cuh"

constexpr size_t kTogether = 24;
constexpr int64_t kBlock = 4096;

struct Variant {
  DType dtype;
  bool adam, amsgrad;
};

std::string source_of(const Variant& v) {
  std::string out =
      vocabulary(false, 0, false) + compute_lines(v.dtype == DType::float64 ? Compute::f64 : Compute::f32);
  out += fmt::format("using T = {};\n#define {} 1\n#define AMSGRAD {}\n", stored_type(v.dtype), v.adam ? "ADAM" : "SGD",
                     v.amsgrad ? 1 : 0);
  out += text_file("optimizer_arguments");
  out += text_file("optimizer");
  return out;
}

const float* number_at(const Tensor& t, const char* name, const char* what) {
  if (!t.defined()) return nullptr;
  SCONCE_CHECK(t.dtype() == DType::float32 && t.device().type == DeviceType::cuda,
               "{}: {} must be a float32 tensor on the device of the parameters, got {} on {}", name, what,
               dtype_name(t.dtype()), to_string(t.device()));
  return static_cast<const float*>(t.data());
}

// Lists beside the parameters: gradients and what is kept. `a` has the numbers.
void sweep(const char* name, const Variant& wanted, std::initializer_list<TensorList> lists, TensorList steps,
           const OptimizerArguments& numbers) {
  const TensorList parameters = *lists.begin();
  for (const TensorList list : lists) {
    SCONCE_CHECK(list.size() == parameters.size(), "{}: lists of {} and {} tensors", name, parameters.size(),
                 list.size());
  }
  SCONCE_CHECK(!wanted.adam || steps.size() == parameters.size(), "{}: expected {} steps, got {}", name,
               parameters.size(), steps.size());
  size_t first = 0;
  while (first < parameters.size()) {
    OptimizerArguments a = numbers;
    Variant v = wanted;
    v.dtype = parameters[first].dtype();
    const Device device = parameters[first].device();
    size_t next = first;
    u32 blocks = 0;
    SameLayout layout;
    for (; next < parameters.size() && next - first < kTogether && parameters[next].dtype() == v.dtype; ++next) {
      const size_t at = next - first;
      int k = 0;
      for (const TensorList list : lists) {
        const Tensor& t = list[next];
        SCONCE_CHECK(t.dtype() == v.dtype && t.numel() == parameters[next].numel() && t.device() == device,
                     "{}: tensors of a parameter must be of one dtype, size and device; got {} {} beside {} {}", name,
                     dtype_name(t.dtype()), t.sizes(), dtype_name(v.dtype), parameters[next].sizes());
        a.data[k][at] = layout.take(t, parameters[next], k != 1 || numbers.scale != nullptr);
        ++k;
      }
      if (wanted.adam && steps[next].device().type == DeviceType::cpu)
        a.step_number[at] = item_of(steps[next]).to_double();
      else if (wanted.adam)
        a.step[at] = number_at(steps[next], name, "state_steps");
      a.size[at] = parameters[next].numel();
      a.first_block[at] = blocks;
      blocks += static_cast<u32>((a.size[at] + kBlock - 1) / kBlock);
    }
    a.count = static_cast<int>(next - first);
    a.first_block[a.count] = blocks;
    if (blocks > 0) {
      const Kernel& kernel = find_kernel(
          device, fmt::format("optimizer/{}{}{}", static_cast<int>(v.dtype), v.adam ? "a" : "s", v.amsgrad ? "m" : ""),
          [&v] { return source_of(v); }, "optimizer");
      Shape shape;
      shape.grid_x = blocks;
      shape.block_x = 256;
      launch(device, kernel, shape, &a, sizeof a, name);
      layout.give_back();
    }
    first = next;
  }
  int k = 0;
  for (const TensorList list : lists) {
    if (k++ != 1 || numbers.scale != nullptr) {
      for (const Tensor& t : list) t.bump_version();
    }
  }
}

double number(const Tensor& t) { return item_of(t).to_double(); }

void sgd(TensorList self, TensorList grads, TensorList buffers, double weight_decay, double momentum, double lr,
         double dampening, bool nesterov, bool maximize, bool is_first_step, const Tensor& grad_scale,
         const Tensor& found_inf) {
  OptimizerArguments a{};
  a.maximize = maximize;
  a.nesterov = nesterov;
  a.has_buffer = !buffers.empty();
  a.first = is_first_step;
  a.lr = lr;
  a.weight_decay = weight_decay;
  a.momentum = momentum;
  a.dampening = dampening;
  a.scale = number_at(grad_scale, "_fused_sgd_", "grad_scale");
  a.found_inf = number_at(found_inf, "_fused_sgd_", "found_inf");
  if (buffers.empty()) return sweep("_fused_sgd_", {}, {self, grads}, {}, a);
  sweep("_fused_sgd_", {}, {self, grads, buffers}, {}, a);
}

void adam(const char* name, TensorList self, TensorList grads, TensorList averages, TensorList squares,
          TensorList largest, TensorList steps, double lr, double beta1, double beta2, double weight_decay, double eps,
          bool amsgrad, bool maximize, bool decoupled, const Tensor& grad_scale, const Tensor& found_inf) {
  OptimizerArguments a{};
  a.maximize = maximize;
  a.decoupled = decoupled;
  a.lr = lr;
  a.beta1 = beta1;
  a.beta2 = beta2;
  a.eps = eps;
  a.weight_decay = weight_decay;
  a.scale = number_at(grad_scale, name, "grad_scale");
  a.found_inf = number_at(found_inf, name, "found_inf");
  const Variant v{DType::float32, true, amsgrad};
  if (amsgrad) return sweep(name, v, {self, grads, averages, squares, largest}, steps, a);
  sweep(name, v, {self, grads, averages, squares}, steps, a);
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

#define SCONCE_ADAM(name, decoupled)                                                                                   \
  void name(TensorList self, TensorList grads, TensorList exp_avgs, TensorList exp_avg_sqs,                            \
            TensorList max_exp_avg_sqs, TensorList state_steps, double lr, double beta1, double beta2,                 \
            double weight_decay, double eps, bool amsgrad, bool maximize, const Tensor& grad_scale,                    \
            const Tensor& found_inf) {                                                                                 \
    adam(#name, self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, lr, beta1, beta2, weight_decay, eps, \
         amsgrad, maximize, decoupled, grad_scale, found_inf);                                                         \
  }                                                                                                                    \
  void name##_tensor_lr(TensorList self, TensorList grads, TensorList exp_avgs, TensorList exp_avg_sqs,                \
                        TensorList max_exp_avg_sqs, TensorList state_steps, const Tensor& lr, double beta1,            \
                        double beta2, double weight_decay, double eps, bool amsgrad, bool maximize,                    \
                        const Tensor& grad_scale, const Tensor& found_inf) {                                           \
    adam(#name, self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, number(lr), beta1, beta2,            \
         weight_decay, eps, amsgrad, maximize, decoupled, grad_scale, found_inf);                                      \
  }
SCONCE_ADAM(_fused_adam_, false)
SCONCE_ADAM(_fused_adamw_, true)
#undef SCONCE_ADAM

}  // namespace sconce::cuda
