#include "sconce/autograd/variable.h"

#include "sconce/autograd/autograd_state.h"
#include "sconce/autograd/differentiable_dtype.h"
#include "sconce/autograd/graph/accumulate_grad.h"
#include "sconce/autograd/hook_lists.h"
#include "sconce/autograd/views/view_history.h"
#include "sconce/base/error.h"
#include "sconce/tensor/grad_mode.h"
#include "sconce/tensor/memory/geometry_changes.h"

namespace sconce::autograd {
namespace {

void mark(const Tensor& t, bool on) {
  uint64_t& meta = t.impl()->meta;
  if (((meta & TensorImpl::requires_grad) != 0) == on) return;  // threads may use one leaf at once
  if (t.impl()->python) grad_flag_changes.fetch_add(1, std::memory_order_relaxed);
  meta = on ? meta | TensorImpl::requires_grad : meta & ~TensorImpl::requires_grad;
}

}  // namespace

std::string name_of_history(const Tensor& t) {
  try {
    const Ref<Node> node = grad_fn(t);
    return node ? node->name() : "";
  } catch (const Error&) {
    return "Invalid";  // a view that must not be used since its base was written
  }
}

void set_requires_grad(const Tensor& t, bool on) {
  TensorImpl& impl = *t.impl();
  SCONCE_CHECK(!on || is_differentiable(t.dtype()), "only Tensors of floating point dtype can require gradients");
  SCONCE_CHECK(!on || !(impl.meta & TensorImpl::inference) || inference_mode_enabled(),
               "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.");
  SCONCE_CHECK(on || is_leaf(t),
               "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in a "
               "subgraph that doesn't require differentiation use var_no_grad = var.detach().");
  if (const TensorImpl* base = base_of(impl)) {
    if (on || state_of(t)) make_state(t).asked = on;
    return mark(t, on || (base->meta & TensorImpl::requires_grad));
  }
  if (on && !t.requires_grad() && !impl.storage->count.unique()) watch_views();
  if (on) make_state(t);  // now, not when threads use the tensor at once
  mark(t, on);
}

bool is_leaf(const Tensor& t) { return !grad_fn(t); }

Ref<Node> grad_fn(const Tensor& t) {
  if (TensorImpl* base = base_of(*t.impl())) return view_grad_fn(t, *base);
  const AutogradState* state = state_of(t);
  return state ? state->grad_fn : nullptr;
}

uint32_t output_number(const Tensor& t) {
  const AutogradState* state = state_of(t);
  return state ? state->output : 0;
}

Tensor grad(const Tensor& t) {
  const AutogradState* state = state_of(t);
  return state ? state->grad : Tensor();
}

void set_grad(const Tensor& t, Tensor grad) {
  if (grad.defined()) {
    SCONCE_CHECK(grad.dtype() == t.dtype(),
                 "attempting to assign a gradient with dtype '{}' to a tensor with dtype '{}'",
                 dtype_name(grad.dtype()), dtype_name(t.dtype()));
    SCONCE_CHECK(
        grad.sizes() == t.sizes(),
        "attempting to assign a gradient of size '{}' to a tensor of size '{}'. Please ensure that the gradient "
        "and the tensor are the same size",
        grad.sizes(), t.sizes());
    SCONCE_CHECK(grad.device() == t.device(), "assigned grad has data located on a different device");
    SCONCE_CHECK(!grad.is_same(t), "can't assign Variable as its own grad");
  } else if (!state_of(t)) {
    return;
  }
  make_state(t).grad = std::move(grad);
}

Edge gradient_edge(const Tensor& t) {
  if (Ref<Node> node = grad_fn(t)) return {std::move(node), output_number(t)};
  if (!t.requires_grad()) return {};
  // A view that only its base makes require grad, and that has no history, was made while nothing was recorded.
  if (base_of(*t.impl())) {
    const AutogradState* state = state_of(t);
    if (!state || !state->asked) return {};
  }
  return {accumulator_of(t), 0};
}

void set_history(const Tensor& t, Ref<Node> node, uint32_t slot) {
  AutogradState& state = make_state(t);
  state.grad_fn = std::move(node);
  state.output = slot;
  mark(t, true);
  set_seen_version(state, *t.impl());
  if (state.retained) [[unlikely]]
    follow_history(t);
}

void make_leaf(const Tensor& t) {
  if (!is_differentiable(t.dtype())) return;
  make_state(t);
  mark(t, true);
}

void detach_in_place(const Tensor& t) {
  SCONCE_CHECK(!t.is_view(), "Can't detach views in-place. Use detach() instead.");
  mark(t, false);
  AutogradState* state = state_of(t);
  if (!state) return;
  state->grad_fn = nullptr;
  state->output = 0;
}

}  // namespace sconce::autograd
