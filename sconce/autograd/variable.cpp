#include "sconce/autograd/variable.h"

#include "sconce/autograd/accumulate_grad.h"
#include "sconce/autograd/hook_lists.h"
#include "sconce/autograd/meta.h"
#include "sconce/base/error.h"

namespace sconce::autograd {
namespace {

bool can_require_grad(const Tensor& t) { return is_floating(t.dtype()) || is_complex(t.dtype()); }

void mark(const Tensor& t, bool on) {
  uint64_t& meta = t.impl()->meta;
  meta = on ? meta | TensorImpl::requires_grad : meta & ~TensorImpl::requires_grad;
}

}  // namespace

void set_requires_grad(const Tensor& t, bool on) {
  SCONCE_CHECK(!on || can_require_grad(t), "only Tensors of floating point dtype can require gradients");
  SCONCE_CHECK(on || is_leaf(t),
               "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in a "
               "subgraph that doesn't require differentiation use var_no_grad = var.detach().");
  if (on) make_meta(t);  // now, not when threads use the tensor at once
  mark(t, on);
}

bool is_leaf(const Tensor& t) { return !grad_fn(t); }

Ref<Node> grad_fn(const Tensor& t) {
  Meta* meta = meta_of(t);
  return meta ? meta->grad_fn : nullptr;
}

uint32_t output_number(const Tensor& t) {
  const Meta* meta = meta_of(t);
  return meta ? meta->output : 0;
}

Tensor grad(const Tensor& t) {
  const Meta* meta = meta_of(t);
  return meta ? meta->grad : Tensor();
}

void set_grad(const Tensor& t, Tensor grad) {
  if (grad.defined()) {
    SCONCE_CHECK(grad.dtype() == t.dtype(),
                 "assigned grad has data of a different type: a gradient of {} must be {}, got {}", dtype_name(t.dtype()),
                 dtype_name(t.dtype()), dtype_name(grad.dtype()));
    SCONCE_CHECK(grad.sizes() == t.sizes(), "assigned grad has data of a different size: expected {}, got {}", t.sizes(),
                 grad.sizes());
    SCONCE_CHECK(grad.device() == t.device(), "assigned grad has data located on a different device");
    SCONCE_CHECK(!grad.is_same(t), "can't assign Variable as its own grad");
  } else if (!meta_of(t)) {
    return;
  }
  make_meta(t).grad = std::move(grad);
}

Edge gradient_edge(const Tensor& t) {
  if (Ref<Node> node = grad_fn(t)) return {std::move(node), output_number(t)};
  if (!t.requires_grad()) return {};
  return {accumulator_of(t), 0};
}

void set_history(const Tensor& t, Ref<Node> node, uint32_t slot) {
  Meta& meta = make_meta(t);
  meta.grad_fn = std::move(node);
  meta.output = slot;
  meta.version = t.version();
  mark(t, true);
  if (meta.retained) [[unlikely]]
    follow_history(t);
}

}  // namespace sconce::autograd
