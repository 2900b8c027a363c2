#include "sconce/autograd/graph/saved_tensor.h"

#include "sconce/autograd/graph/inference_saves.h"
#include "sconce/autograd/variable.h"
#include "sconce/autograd/views/copy_slices.h"
#include "sconce/autograd/views/view_history.h"
#include "sconce/base/error.h"
#include "sconce/base/thread_exit.h"
#include "sconce/tensor/grad_mode.h"

namespace sconce::autograd {
namespace {

// Null while there are none.
thread_local constinit SavedTensorHookStack* hook_stack = nullptr;
thread_local constinit ThreadExit free_hooks{[]() noexcept { delete std::exchange(hook_stack, nullptr); }};

// ", which is output 0 of Mul,"
std::string history_text(const Tensor& t, const Node* owner, uint32_t slot) {
  const auto text = [](uint32_t output, const Node& node) {
    return ", which is output " + std::to_string(output) + " of " + forward_name(node) + ",";
  };
  if (slot != ~0u) return text(slot, *owner);
  TensorImpl* base = base_of(*t.impl());
  const Edge made_by = base ? view_edge(t, *base) : Edge{grad_fn(t), output_number(t)};
  return made_by.node ? text(made_by.slot, *made_by.node) : "";
}

}  // namespace

struct SavedTensor::Packed {
  std::shared_ptr<const SavedTensorHooks> hooks;
  Value value;
  Edge edge;  // of an input: hooks see a tensor without history, and their result gets it again
};

SavedTensorHooksGuard::SavedTensorHooksGuard(SavedTensorHooks hooks) {
  SavedTensorHookStack stack = saved_tensor_hooks();
  stack.push_back(std::make_shared<const SavedTensorHooks>(std::move(hooks)));
  set_saved_tensor_hooks(std::move(stack));
}
SavedTensorHooksGuard::~SavedTensorHooksGuard() {
  hook_stack->pop_back();
  if (hook_stack->empty()) delete std::exchange(hook_stack, nullptr);
}

SavedTensorHookStack saved_tensor_hooks() { return hook_stack ? *hook_stack : SavedTensorHookStack(); }
bool has_saved_tensor_hooks() noexcept { return hook_stack != nullptr; }
void set_saved_tensor_hooks(SavedTensorHookStack stack) {
  std::unique_ptr<SavedTensorHookStack> made;
  if (!stack.empty()) {
    at_thread_exit(free_hooks);
    made = std::make_unique<SavedTensorHookStack>(std::move(stack));
  }
  delete std::exchange(hook_stack, made.release());
}

SavedTensor::SavedTensor(const Tensor& given, uint32_t slot) : slot_(slot) {
  if (!given.defined()) return;
  const bool inference = given.impl()->meta & TensorImpl::inference;
  SCONCE_CHECK(
      !inference || saves_inference_tensors(),
      "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in "
      "computation tracked by autograd. To work around this, you can make a clone to get a normal tensor and use "
      "it in autograd, or use `torch.no_grad()` instead of `torch.inference_mode()`.");
  const Tensor normal = inference ? without_inference(given) : Tensor();
  const Tensor& t = inference ? normal : given;
  version_ = t.version();
  requires_grad_ = t.requires_grad();
  if (!hook_stack) [[likely]] {
    // An output that keeps its history would own the node that owns it.
    tensor_ = slot == kInput ? t : shallow_copy(t);
    return;
  }
  packed_ = std::make_shared<Packed>();
  packed_->hooks = hook_stack->back();
  if (slot == kInput && requires_grad_) packed_->edge = gradient_edge(t);
  const NoGrad off;
  packed_->value = packed_->hooks->pack(shallow_copy(t));
}

Tensor SavedTensor::replace_by(std::shared_ptr<const SavedTensorHooks> hooks) {
  packed_ = std::make_shared<Packed>();
  packed_->hooks = std::move(hooks);
  if (slot_ == kInput && requires_grad_) packed_->edge = gradient_edge(tensor_);
  return std::exchange(tensor_, Tensor());
}

Tensor SavedTensor::unpack(Node* owner) const {
  if (!packed_) {
    if (tensor_.defined() && tensor_.version() != version_) [[unlikely]] {
      fail(
          "one of the variables needed for gradient computation has been modified by an inplace operation: "
          "[torch.{}Tensor {}]{} is at version {}; expected version {} instead. Hint: enable anomaly detection to "
          "find the operation that failed to compute its gradient, with torch.autograd.set_detect_anomaly(True, "
          "check_nan=False).",
          dtype_legacy_name(tensor_.dtype()), tensor_.sizes(), history_text(tensor_, owner, slot_), tensor_.version(),
          version_);
    }
    if (!tensor_.defined() || slot_ == kInput || !requires_grad_ || !grad_enabled()) return tensor_;
  }
  Tensor t = packed_ ? packed_->hooks->unpack(packed_->value) : tensor_;
  if (!t.defined() || !requires_grad_ || !grad_enabled()) return t;
  Tensor out = shallow_copy(t);
  if (slot_ != kInput && owner->outer) {
    // The inner node is not part of the graph: the tensor is a view of what the outer one made.
    const Edge made_by = owner->outer->edge_of_view(out.device());
    set_history(out, made_by.node, made_by.slot);
  } else if (slot_ != kInput) {
    set_history(out, Ref<Node>::share(owner), slot_);
  } else {
    set_history(out, packed_->edge.node, packed_->edge.slot);
  }
  return out;
}

}  // namespace sconce::autograd
