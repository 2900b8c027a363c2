#include "sconce/autograd/views/view_history.h"

#include <atomic>
#include <mutex>

#include "sconce/autograd/autograd_state.h"
#include "sconce/autograd/differentiable_dtype.h"
#include "sconce/autograd/graph/op_node.h"
#include "sconce/autograd/hook_lists.h"
#include "sconce/autograd/variable.h"
#include "sconce/base/error.h"
#include "sconce/dispatch/registry.h"
#include "sconce/generated/view.h"
#include "sconce/tensor/grad_mode.h"
#include "sconce/tensor/math_bits.h"

namespace sconce::autograd {
namespace {

// Of threads that find the same view out of date.
std::mutex remake_mutex;

const Op& view_op(const char* name) {
  const Op* op = find_op(name, "");
  SCONCE_ASSERT(op);
  return *op;
}

// Gives `result` the history of a call of a view operator.
template <size_t N>
Tensor through(const Op& op, Value (&&args)[N], Tensor result) {
  const auto node = make_ref<OpNode>(op, args, OpNode::wanted_arguments(op, args), Tensor());
  Value results[] = {result};
  node->set_results(args, results, false);
  return result;
}

// Gives the view, which other threads may be looking at, the history that `like`, at the same place, was given.
void take_history(const Tensor& view, const Tensor& like) {
  const AutogradState& from = *state_of(like);
  AutogradState& state = make_state(view);
  state.grad_fn = from.grad_fn;
  state.output = from.output;
  state.recorded.store(true, std::memory_order_relaxed);
  set_seen_version(state, *view.impl());
  if (state.retained) follow_history(view);
}

// A tensor at the view's place with the history that the view should have.
Tensor with_new_history(const Tensor& view, const Tensor& base) {
  static const Op& strided = view_op("aten::as_strided");
  static const Op& as_real = view_op("aten::view_as_real");
  static const Op& as_complex = view_op("aten::view_as_complex");
  static const Op& as_conjugate = view_op("aten::_conj");
  static const Op& as_negative = view_op("aten::_neg_view");
  const NoGrad off;  // only the nodes are wanted
  const bool complex = is_complex(view.dtype());
  Tensor made;
  if (base.dtype() == view.dtype() || !complex) {
    Tensor from = base;
    if (base.dtype() != view.dtype())
      from = through(as_real, {base}, shallow_copy(view_as_real(without_math_bits(base))));
    made = through(strided, {from, view.sizes(), view.strides(), view.storage_offset()}, shallow_copy(view));
  } else {
    // Real numbers as complex ones: pairs, then the view.
    const Tensor pairs = shallow_copy(view_as_real(without_math_bits(view)));
    through(strided, {base, pairs.sizes(), pairs.strides(), pairs.storage_offset()}, pairs);
    made = through(as_complex, {pairs}, shallow_copy(view));
  }
  const SignChange change =
      sign_change(signs_of(base), signs_of(view), view.sizes(), view.strides(), view.storage_offset());
  if (change.conjugate) made = through(as_conjugate, {made}, shallow_copy(view));
  return change.negative ? through(as_negative, {made}, shallow_copy(view)) : made;
}

Ref<Node> made_history(const Tensor& view) {
  const AutogradState* state = state_of(view);
  return state ? state->grad_fn : nullptr;
}

// Whether the view, which is not up to date, gets a history. Throws if it was written in a way that must not be.
bool needs_new_history(const Tensor& view, const TensorImpl& base) {
  if (!made_history(view) && !(base.meta & TensorImpl::requires_grad)) return false;
  check_view_write(view, true);
  return true;
}

void record_views(const Op& op, KeySet keys, Value* args, Value* returns) {
  if (op.has_kernel(Key::autograd)) return op.redispatch_boxed(keys | KeySet(Key::autograd), args, returns);
  op.redispatch_boxed(keys & KeySet::below(Key::view), args, returns);
}

}  // namespace

Ref<Node> view_grad_fn(const Tensor& view, TensorImpl& base) {
  TensorImpl& impl = *view.impl();
  if (saw_version(impl)) return made_history(view);
  if (!view.requires_grad() || !is_differentiable(view.dtype())) return nullptr;
  const std::lock_guard lock(remake_mutex);
  if (!saw_version(impl)) {
    if (!needs_new_history(view, base)) return nullptr;
    take_history(view, with_new_history(view, Tensor(Ref<TensorImpl>::share(&base))));
  }
  return made_history(view);
}

Edge view_edge(const Tensor& view, TensorImpl& base) {
  const std::lock_guard lock(remake_mutex);
  if (saw_version(*view.impl())) return {made_history(view), output_number(view)};
  if (!view.requires_grad() || !is_differentiable(view.dtype()) || !needs_new_history(view, base)) return {};
  return edge_between(view, Tensor(Ref<TensorImpl>::share(&base)));
}

SignsOf signs_of(const Tensor& t) { return {t.dtype(), has_conj_bit(t), has_neg_bit(t)}; }

SignChange sign_change(const SignsOf& base, const SignsOf& view, IntList sizes, IntList strides, int64_t offset) {
  SignChange change{base.conjugate != view.conjugate, base.negative != view.negative};
  if (is_complex(view.dtype) || !base.conjugate) return change;
  // Of a conjugate, imaginary parts are negatives, real parts are not.
  for (size_t d = 0; d < sizes.size(); ++d) {
    SCONCE_CHECK_AS(not_implemented, sizes[d] <= 1 || strides[d] % 2 == 0,
                    "gradients through a view of both real and imaginary parts of a conjugate view");
  }
  return {false, change.negative != (offset % 2 != 0)};
}

Edge edge_between(const Tensor& view, const Tensor& base) {
  const Tensor like = with_new_history(view, base);
  return {made_history(like), output_number(like)};
}

void check_view_write(const Tensor& view, bool indirect) {
  const ViewOrigin origin = view_origin(*view.impl());
  if (origin == ViewOrigin::plain) return;
  const AutogradState* state = state_of(view);
  const bool inference = origin == ViewOrigin::inference, no_grad = origin == ViewOrigin::no_grad;
  const std::string mode = inference ? "inference" : "no_grad";
  std::string text;
  if (state && state->grad_fn) {
    text = "Output " + std::to_string(state->output) + " of " + forward_name(*state->grad_fn) + " is a view";
    if (inference || no_grad) text += " of a view which was created in " + mode + " mode";
  } else {
    text = "A view was created in " + mode + " mode";
  }
  text += indirect ? " and its base or another view of its base has been modified inplace"
                   : " and is being modified inplace";
  if (inference)
    text += " in normal mode";
  else if (no_grad || !state || !state->grad_fn)
    text += " with grad mode enabled";
  text += ". ";
  switch (origin) {
    case ViewOrigin::multiple:
      text +=
          "This view is the output of a function that returns multiple views. Such functions do not allow the output "
          "views to be modified inplace. You should replace the inplace operation by an out-of-place one.";
      break;
    case ViewOrigin::custom:
      text +=
          "This view was created inside a custom Function (or because an input was returned as-is) and the autograd "
          "logic to handle view+inplace would override the custom backward associated with the custom Function, "
          "leading "
          "to incorrect gradients. This behavior is forbidden. You can fix this by cloning the output of the custom "
          "Function.";
      break;
    default:
      text +=
          "Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving "
          "both the view and the inplace either both inside the " +
          std::string(inference ? "inference_mode" : "no_grad") +
          " block (if you don't want the inplace to be tracked) or both outside (if you want the inplace to be "
          "tracked).";
  }
  fail("{}", text);
}

void watch_views() {
  static std::atomic<bool> watching{false};
  if (watching.load(std::memory_order_relaxed) || watching.exchange(true)) return;
  set_fallback(Key::view, record_views);
}

}  // namespace sconce::autograd
