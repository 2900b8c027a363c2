// The face of Tensor that programs see: see tensor.h.
#undef SCONCE_BUILDING
#include "sconce/autograd/backward.h"
#include "sconce/autograd/variable.h"

namespace sconce {

const Tensor& Tensor::requires_grad_(bool requires_grad) const {
  autograd::set_requires_grad(*this, requires_grad);
  return *this;
}
bool Tensor::is_leaf() const { return autograd::is_leaf(*this); }
void Tensor::backward(const Tensor& gradient, std::optional<bool> retain_graph, bool create_graph) const {
  autograd::backward({*this}, {gradient}, {retain_graph, create_graph});
}
Tensor Tensor::grad() const { return autograd::grad(*this); }
void Tensor::set_grad(const Tensor& grad) const { autograd::set_grad(*this, grad); }
void Tensor::retain_grad() const { autograd::retain_grad(*this); }
bool Tensor::retains_grad() const { return autograd::retains_grad(*this); }

}  // namespace sconce
