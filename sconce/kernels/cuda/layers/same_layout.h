// The tensors of a parameter (itself, gradient, state) as memory of one order, for kernels that go through it element
// by element: those that lie as the parameter does are used as they are, others are copied, and written back.
#pragma once

#include <utility>
#include <vector>

#include "sconce/ops.h"
#include "sconce/tensor/grad_mode.h"

namespace sconce::cuda {

class SameLayout {
 public:
  // Memory with the elements of t in the order of the parameter.
  void* take(const Tensor& t, const Tensor& parameter, bool is_written) {
    if (t.is_contiguous() && parameter.is_contiguous()) return t.data();
    if (t.is_dense() && t.sizes() == parameter.sizes() && t.strides() == parameter.strides()) return t.data();
    const NoGrad without_gradients;
    const Tensor made = parameter.is_dense()
                            ? empty_strided_tensor(parameter.sizes(), parameter.strides(), t.dtype(), t.device())
                            : empty_tensor(parameter.sizes(), t.dtype(), t.device());
    copy_(made, t);
    copies_.emplace_back(is_written ? t : Tensor(), made);
    return made.data();
  }
  // After the kernel was asked for.
  void give_back() {
    const NoGrad without_gradients;
    for (const auto& [to, from] : copies_) {
      if (to.defined()) copy_(to, from);
    }
    copies_.clear();
  }

 private:
  std::vector<std::pair<Tensor, Tensor>> copies_;
};

}  // namespace sconce::cuda
