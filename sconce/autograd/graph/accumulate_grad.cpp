#include "sconce/autograd/graph/accumulate_grad.h"

#include "sconce/autograd/autograd_state.h"
#include "sconce/autograd/graph/sole_owner.h"
#include "sconce/autograd/hook_lists.h"
#include "sconce/base/variants/variants.h"
#include "sconce/generated/arithmetic.h"
#include "sconce/generated/copy.h"
#include "sconce/generated/view.h"
#include "sconce/tensor/grad_mode.h"

namespace sconce::autograd {
namespace {

SCONCE_VARIANT(taken_gradient, "autograd.gradient.taken", "a gradient without another owner, in the leaf's layout");

bool is_sparse(const Tensor& t) { return t.keys().has(Key::sparse); }

// The strides of dimensions that have one element do not count.
bool same_layout(const Tensor& a, const Tensor& b) {
  for (size_t i = 0; i < a.sizes().size(); ++i) {
    if (a.sizes()[i] != 1 && a.strides()[i] != b.strides()[i]) return false;
  }
  return true;
}

// May the gradient become the leaf's own, without a copy?
bool can_take(const Tensor& grad, const Tensor& leaf) {
  if (is_sparse(grad)) return !grad_enabled() && grad.impl()->count.unique();
  return !grad_enabled() && has_sole_owner(grad) && (is_sparse(leaf) || same_layout(grad, leaf));
}

Tensor own_copy(const Tensor& grad, const Tensor& leaf) {
  if (is_sparse(grad)) return clone(grad);
  if (!leaf.is_dense()) return clone(grad, MemoryFormat::contiguous);
  Tensor out = empty_strided_tensor(leaf.sizes(), leaf.strides(), leaf.dtype(), leaf.device());
  copy_(out, grad);
  return out;
}

// With a graph of its own. What is recorded looks up the accumulators of leaves, this leaf's too if it is its own
// gradient (x.backward(x, create_graph=True)), under the lock of the state: so the sum is made without it, and made
// again if another thread was quicker.
void accumulate_recorded(AutogradState& state, const Tensor& incoming) {
  for (;;) {
    Tensor before, after;
    {
      const std::lock_guard lock(state.mutex);
      before = state.grad;
    }
    if (!before.defined())
      after = clone(incoming);
    else
      after = is_sparse(before) && !is_sparse(incoming) ? add(incoming, before) : add(before, incoming);
    const std::lock_guard lock(state.mutex);
    if (!state.grad.is_same(before)) continue;
    std::swap(state.grad, after);
    return;
  }
}

}  // namespace

AccumulateGrad::AccumulateGrad(Tensor leaf) : leaf_(std::move(leaf)) {
  sequence = ~uint64_t{0};
  add_output(leaf_);
  count.disable_shortcut();  // the leaf looks it up while another thread may drop it
}

AccumulateGrad::~AccumulateGrad() {
  AutogradState* state = state_of(leaf_);
  const std::lock_guard lock(state->mutex);
  if (state->accumulator == this) state->accumulator = nullptr;
}

void AccumulateGrad::run_tensor_hooks(std::span<Tensor> grads) {
  const AutogradState& state = *state_of(leaf_);
  if (!state.hooks) return;
  size_t number = 0;
  for (const TensorHook& hook : state.hooks->pre.current()) run_tensor_hook(hook, grads[0], number++);
}

void AccumulateGrad::apply(const BackwardCall& call) {
  if (!call.grads[0].defined()) return;
  Tensor incoming = std::move(call.grads[0]);
  AutogradState& state = *state_of(leaf_);
  if (grad_enabled()) {
    accumulate_recorded(state, incoming);
  } else {
    Tensor replaced;  // freed without the lock: it may hold the last reference to a graph with this node in it
    const std::lock_guard lock(state.mutex);
    if (!state.grad.defined()) {
      state.grad = taken_gradient(can_take(incoming, leaf_)) ? std::move(incoming) : own_copy(incoming, leaf_);
    } else if (is_sparse(state.grad)) {
      replaced = is_sparse(incoming) ? add(state.grad, incoming) : add(incoming, state.grad);
      std::swap(state.grad, replaced);
    } else {
      add_(state.grad, incoming);
    }
  }
  if (state.hooks) {
    for (const PostAccumulateHook& hook : state.hooks->post_accumulate.current()) hook(leaf_);
  }
}

Ref<Node> accumulator_of(const Tensor& leaf) {
  AutogradState& state = make_state(leaf);
  const std::lock_guard lock(state.mutex);
  if (state.accumulator && state.accumulator->count.try_retain()) return Ref<Node>::adopt(state.accumulator);
  auto made = make_ref<AccumulateGrad>(leaf);
  state.accumulator = made.get();
  return made;
}

}  // namespace sconce::autograd
