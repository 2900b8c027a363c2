#include "sconce/autograd/hooks.h"

#include "sconce/autograd/hook_lists.h"
#include "sconce/autograd/variable.h"
#include "sconce/base/error.h"
#include "sconce/generated/arithmetic.h"
#include "sconce/generated/copy.h"

namespace sconce::autograd {
namespace {

NodeHooks& hooks_of(Node& node) {
  if (!node.hooks) node.hooks = std::make_unique<NodeHooks>();
  return *node.hooks;
}

TensorHooks& hooks_of(AutogradState& state) {
  if (!state.hooks) state.hooks = std::make_unique<TensorHooks>();
  return *state.hooks;
}

// Lets the node that made t leave t's gradient there.
void keep_gradient(const Tensor& t, const std::shared_ptr<RetainedGrad>& retained) {
  std::weak_ptr<RetainedGrad> weak = retained;
  TensorHook hook = [weak](const Tensor& grad) -> Tensor {
    const std::shared_ptr<RetainedGrad> to = weak.lock();
    if (!to || !grad.defined()) return {};
    const std::lock_guard lock(to->mutex);
    if (!to->state) return {};
    Tensor& kept = to->state->grad;
    kept = kept.defined() ? add(kept, grad) : clone(grad);
    return {};
  };
  retained->hook = hooks_of(*grad_fn(t)).retained.add({output_number(t), std::move(hook)});
}

}  // namespace

void HookHandle::remove() {
  if (const auto remove = std::exchange(remove_, nullptr)) remove();
}

void run_tensor_hook(const TensorHook& hook, Tensor& grad, size_t number) {
  Tensor other = hook(grad);
  if (!other.defined()) return;
  SCONCE_CHECK(grad.defined(), "can't replace a None gradient with a non-None value (hook {})", number);
  SCONCE_CHECK(other.dtype() == grad.dtype() && other.device() == grad.device(),
               "hook '{}' has changed the type of value (was torch.{}Tensor got torch.{}Tensor)", number,
               dtype_legacy_name(grad.dtype()), dtype_legacy_name(other.dtype()));
  SCONCE_CHECK(other.sizes() == grad.sizes(), "hook '{}' has changed the size of value: it was {}, is {}", number,
               grad.sizes(), other.sizes());
  grad = std::move(other);
}

HookHandle register_hook(const Tensor& t, TensorHook hook) {
  SCONCE_CHECK(t.requires_grad(), "cannot register a hook on a tensor that doesn't require gradient");
  if (const Ref<Node> node = grad_fn(t)) return hooks_of(*node).outputs.add({output_number(t), std::move(hook)});
  return hooks_of(make_state(t)).pre.add(std::move(hook));
}

HookHandle register_post_accumulate_grad_hook(const Tensor& t, PostAccumulateHook hook) {
  SCONCE_CHECK(t.requires_grad(), "cannot register a hook on a tensor that doesn't require gradient");
  SCONCE_CHECK(is_leaf(t), "post accumulate grad hooks cannot be registered on non-leaf tensors");
  return hooks_of(make_state(t)).post_accumulate.add(std::move(hook));
}

HookHandle register_pre_hook(Node& node, NodePreHook hook) { return hooks_of(node).pre.add(std::move(hook)); }
HookHandle register_post_hook(Node& node, NodePostHook hook) { return hooks_of(node).post.add(std::move(hook)); }

void retain_grad(const Tensor& t) {
  SCONCE_CHECK(t.requires_grad(), "can't retain_grad on Tensor that has requires_grad=False");
  if (is_leaf(t)) return;
  AutogradState& state = make_state(t);
  if (state.retained) return;
  state.retained = std::make_shared<RetainedGrad>();
  state.retained->state = &state;
  keep_gradient(t, state.retained);
}

bool retains_grad(const Tensor& t) {
  const AutogradState* state = state_of(t);
  return state && state->retained;
}

void forget_tensor(RetainedGrad& retained) {
  const std::lock_guard lock(retained.mutex);
  retained.state = nullptr;
}

void follow_history(const Tensor& t) {
  const AutogradState* state = state_of(t);
  if (!state || !state->retained) return;
  state->retained->hook.remove();
  keep_gradient(t, state->retained);
}

}  // namespace sconce::autograd
