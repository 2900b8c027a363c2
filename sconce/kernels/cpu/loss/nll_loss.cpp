// Negative log likelihood: picks one class per place of [N, C, places].
#include <algorithm>
#include <array>
#include <limits>

#include "sconce/base/error.h"
#include "sconce/base/parallel.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/loss_kernels.h"
#include "sconce/kernels/any/fill.h"
#include "sconce/kernels/cpu/engine/accumulate.h"
#include "sconce/kernels/cpu/engine/visit_floats.h"
#include "sconce/tensor/element.h"

namespace sconce {
namespace {

enum Reduction : int64_t { none = 0, mean = 1, sum = 2 };

struct Geometry {
  int64_t batch, classes, places;
};

Geometry geometry(const Tensor& self) {
  if (self.dim() == 4) return {self.sizes()[0], self.sizes()[1], self.sizes()[2] * self.sizes()[3]};
  return self.dim() == 1 ? Geometry{1, self.sizes()[0], 1} : Geometry{self.sizes()[0], self.sizes()[1], 1};
}

void check_weight(const Tensor& self, const Tensor& weight, int64_t classes) {
  if (!weight.defined()) return;
  SCONCE_CHECK(
      weight.dim() == 1 && weight.numel() == classes,
      "weight tensor should be defined either for all {} classes or no classes but got weight tensor of shape: {}",
      classes, weight.sizes());
  SCONCE_CHECK(weight.dtype() == self.dtype(), "expected scalar type {} but found {}", dtype_legacy_name(self.dtype()),
               dtype_legacy_name(weight.dtype()));
}

void check_rows(const Tensor& self, const Tensor& target, const Tensor& weight) {
  SCONCE_CHECK(self.dim() == 1 || self.dim() == 2, "input tensor should be 1D or 2D");
  SCONCE_CHECK(target.dim() <= 1, "0D or 1D target tensor expected, multi-target not supported");
  const bool alone = self.dim() == 1 && target.numel() == 1;
  SCONCE_CHECK(alone || (self.dim() == 2 && target.dim() == 1 && self.sizes()[0] == target.sizes()[0]) ||
                   (self.dim() == 1 && target.dim() == 0),
               "size mismatch (got input: {}, target: {})", self.sizes(), target.sizes());
  check_weight(self, weight, self.size(-1));
}

void check_planes(const Tensor& self, const Tensor& target, const Tensor& weight) {
  SCONCE_CHECK(target.dim() == 3,
               "only batches of spatial targets supported (3D tensors) but got targets of dimension: {}", target.dim());
  SCONCE_CHECK(self.dim() == 4, "only batches of spatial inputs supported (4D tensors), but got input of dimension: {}",
               self.dim());
  check_weight(self, weight, self.sizes()[1]);
  SCONCE_CHECK(self.sizes()[0] == target.sizes()[0] && self.sizes()[2] == target.sizes()[1] &&
                   self.sizes()[3] == target.sizes()[2],
               "size mismatch (got input: {} , target: {})", self.sizes(), target.sizes());
}

Tensor classes_of(const Tensor& target) {
  SCONCE_CHECK(target.dtype() == DType::int64 || target.dtype() == DType::uint8,
               "expected target dtype to be Long or Byte, but got {}", dtype_legacy_name(target.dtype()));
  return contiguous_tensor(to_dtype(target, DType::int64));
}

void check_classes(const Tensor& classes, int64_t count, int64_t ignore_index) {
  const auto* index = classes.data<int64_t>();
  for (int64_t i = 0; i < classes.numel(); ++i) {
    SCONCE_CHECK_AS(index, index[i] == ignore_index || (0 <= index[i] && index[i] < count),
                    "Target {} is out of bounds.", index[i]);
  }
}

void forward(const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction, int64_t ignore_index,
             const Tensor& out, const Tensor& total_weight) {
  const auto [batch, classes, places] = geometry(self);
  const Tensor x = contiguous_tensor(self), wanted = classes_of(target);
  check_classes(wanted, classes, ignore_index);
  const Tensor w = weight.defined() ? contiguous_tensor(weight) : weight;
  const auto* index = wanted.data<int64_t>();
  visit_floats(self.dtype(), "nll_loss_out_frame", [&]<class T>() {
    const auto value = [&](int64_t i, double* of_weight) -> double {
      const int64_t c = index[i];
      if (c == ignore_index) return *of_weight = 0;
      const int64_t n = i / places, p = i - n * places;
      *of_weight = w.defined() ? static_cast<double>(widened(w.data<T>()[c])) : 1;
      return -static_cast<double>(widened(x.data<T>()[(n * classes + c) * places + p])) * *of_weight;
    };
    const int64_t count = batch * places;
    if (reduction == Reduction::none && self.dim() != 1) {
      parallel_for(count, 4096, [&](int64_t begin, int64_t end) {
        double unused;
        for (int64_t i = begin; i < end; ++i) out.data<T>()[i] = narrowed<T>(value(i, &unused));
      });
      total_weight.data<T>()[0] = narrowed<T>(0.0);
      return;
    }
    double total = 0, weights = 0, of_weight;
    for (int64_t i = 0; i < count; ++i) {
      total += value(i, &of_weight);
      weights += of_weight;
    }
    if (reduction == Reduction::mean)
      total = weights == 0 && count == 0 ? std::numeric_limits<double>::quiet_NaN() : total / weights;
    out.data<T>()[0] = narrowed<T>(total);
    total_weight.data<T>()[0] = narrowed<T>(weights);
  });
}

void backward(const Tensor& grad_output, const Tensor& self, const Tensor& target, const Tensor& weight,
              int64_t reduction, int64_t ignore_index, const Tensor& total_weight, const Tensor& out) {
  const auto [batch, classes, places] = geometry(self);
  const Tensor wanted = classes_of(target), grad = contiguous_tensor(to_dtype(grad_output, self.dtype()));
  check_classes(wanted, classes, ignore_index);
  const Tensor w = weight.defined() ? contiguous_tensor(weight) : weight;
  const auto* index = wanted.data<int64_t>();
  fill_tensor(out, 0);
  visit_floats(self.dtype(), "nll_loss_backward_out_frame", [&]<class T>() {
    const bool each = reduction == Reduction::none && self.dim() != 1;
    double share = 1;
    if (reduction == Reduction::mean) share = 1 / item_of(total_weight).to_double();
    for (int64_t i = 0; i < batch * places; ++i) {
      const int64_t c = index[i];
      if (c == ignore_index) continue;
      const int64_t n = i / places, p = i - n * places;
      const double by = w.defined() ? static_cast<double>(widened(w.data<T>()[c])) : 1;
      const double g = static_cast<double>(widened(grad.data<T>()[each ? i : 0]));
      out.data<T>()[(n * classes + c) * places + p] = narrowed<T>(-g * by * share);
    }
  });
}

Dims sizes_of(const Tensor& self, const Tensor& target, int64_t reduction) {
  return reduction == Reduction::none && self.dim() != 1 ? Dims(target.sizes()) : Dims();
}

void check_gradient(const Tensor& grad_output, const Tensor& self, const Tensor& target, int64_t reduction) {
  if (reduction == Reduction::none && self.dim() != 1) {
    if (self.dim() == 2) {
      SCONCE_CHECK(grad_output.dim() == 1 && grad_output.sizes()[0] == self.sizes()[0],
                   "Expected a tensor of dimension 1 and tensor.size[0] == {} but got: dimension {} and sizes {}",
                   self.sizes()[0], grad_output.dim(), grad_output.sizes());
    }
    SCONCE_CHECK(grad_output.sizes() == target.sizes(), "size mismatch (got grad_output: {}, target: {})",
                 grad_output.sizes(), target.sizes());
  } else {
    SCONCE_CHECK(grad_output.dim() <= 1 && grad_output.numel() == 1,
                 "Expected a single element grad_output tensor, but got: {}", grad_output.sizes());
  }
}

}  // namespace

namespace any_device {

std::array<OutSpec, 2> nll_loss_forward_spec(const Tensor& self, const Tensor& target, const Tensor& weight,
                                             int64_t reduction, int64_t) {
  check_rows(self, target, weight);
  return {OutSpec{sizes_of(self, target, reduction), self.dtype()}, OutSpec{Dims(), self.dtype()}};
}
OutSpec nll_loss_backward_spec(const Tensor& grad_output, const Tensor& self, const Tensor& target,
                               const Tensor& weight, int64_t reduction, int64_t, const Tensor& total_weight) {
  check_rows(self, target, weight);
  SCONCE_CHECK(total_weight.numel() == 1, "expected total_weight to be a single element tensor, got: {} ({} elements)",
               total_weight.sizes(), total_weight.numel());
  check_gradient(grad_output, self, target, reduction);
  return {Dims(self.sizes()), self.dtype()};
}
std::array<OutSpec, 2> nll_loss2d_forward_spec(const Tensor& self, const Tensor& target, const Tensor& weight,
                                               int64_t reduction, int64_t) {
  check_planes(self, target, weight);
  return {OutSpec{sizes_of(self, target, reduction), self.dtype()}, OutSpec{Dims(), self.dtype()}};
}
OutSpec nll_loss2d_backward_spec(const Tensor& grad_output, const Tensor& self, const Tensor& target,
                                 const Tensor& weight, int64_t reduction, int64_t, const Tensor& total_weight) {
  check_planes(self, target, weight);
  SCONCE_CHECK(total_weight.numel() == 1, "expected total_weight to be a single element tensor, got: {} ({} elements)",
               total_weight.sizes(), total_weight.numel());
  check_gradient(grad_output, self, target, reduction);
  return {Dims(self.sizes()), self.dtype()};
}

}  // namespace any_device

namespace cpu {

void nll_loss_forward(const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction,
                      int64_t ignore_index, const Tensor& out, const Tensor& total_weight) {
  forward(self, target, weight, reduction, ignore_index, out, total_weight);
}
void nll_loss_backward(const Tensor& grad_output, const Tensor& self, const Tensor& target, const Tensor& weight,
                       int64_t reduction, int64_t ignore_index, const Tensor& total_weight, const Tensor& out) {
  backward(grad_output, self, target, weight, reduction, ignore_index, total_weight, out);
}
void nll_loss2d_forward(const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction,
                        int64_t ignore_index, const Tensor& out, const Tensor& total_weight) {
  forward(self, target, weight, reduction, ignore_index, out, total_weight);
}
void nll_loss2d_backward(const Tensor& grad_output, const Tensor& self, const Tensor& target, const Tensor& weight,
                         int64_t reduction, int64_t ignore_index, const Tensor& total_weight, const Tensor& out) {
  backward(grad_output, self, target, weight, reduction, ignore_index, total_weight, out);
}

}  // namespace cpu
}  // namespace sconce
