#include "sconce/autograd/saved_tensor.h"

#include "sconce/autograd/variable.h"
#include "sconce/base/error.h"
#include "sconce/tensor/grad_mode.h"

namespace sconce::autograd {
namespace {

thread_local SavedTensorHookStack hook_stack;

// ", which is output 0 of MulBackward0"
std::string history_text(const Tensor& t, const Node* owner, uint32_t slot) {
  if (slot != ~0u) return ", which is output " + std::to_string(slot) + " of " + owner->name();
  const Ref<Node> made_by = grad_fn(t);
  return made_by ? ", which is output " + std::to_string(output_number(t)) + " of " + made_by->name() : "";
}

}  // namespace

struct SavedTensor::Packed {
  std::shared_ptr<const SavedTensorHooks> hooks;
  Value value;
};

SavedTensorHooksGuard::SavedTensorHooksGuard(SavedTensorHooks hooks) {
  hook_stack.push_back(std::make_shared<const SavedTensorHooks>(std::move(hooks)));
}
SavedTensorHooksGuard::~SavedTensorHooksGuard() { hook_stack.pop_back(); }

SavedTensorHookStack saved_tensor_hooks() { return hook_stack; }
void set_saved_tensor_hooks(SavedTensorHookStack stack) { hook_stack = std::move(stack); }

SavedTensor::SavedTensor(const Tensor& t, uint32_t slot) : slot_(slot) {
  if (!t.defined()) return;
  SCONCE_CHECK(!(t.impl()->meta & TensorImpl::inference),
               "Inference tensors cannot be saved for backward. To work around you can make a clone to get a normal "
               "tensor and use it in autograd.");
  version_ = t.version();
  requires_grad_ = t.requires_grad();
  // An output that keeps its history would own the node that owns it.
  Tensor kept = slot == kInput ? t : shallow_copy(t);
  if (hook_stack.empty()) [[likely]] {
    tensor_ = std::move(kept);
    return;
  }
  packed_ = std::make_shared<Packed>();
  packed_->hooks = hook_stack.back();
  const NoGrad off;
  packed_->value = packed_->hooks->pack(kept);
}

Tensor SavedTensor::unpack(Node* owner) const {
  Tensor t = packed_ ? packed_->hooks->unpack(packed_->value) : tensor_;
  if (!packed_ && t.defined() && t.version() != version_) {
    fail(
        "one of the variables needed for gradient computation has been modified by an inplace operation: [torch.{}Tensor "
        "{}]{}, is at version {}; expected version {} instead. Hint: enable anomaly detection to find the operation that "
        "failed to compute its gradient, with torch.autograd.set_detect_anomaly(True).",
        dtype_legacy_name(t.dtype()), t.sizes(), history_text(t, owner, slot_), t.version(), version_);
  }
  if (!t.defined() || slot_ == kInput || !requires_grad_ || !grad_enabled()) return t;
  Tensor out = shallow_copy(t);
  set_history(out, Ref<Node>::share(owner), slot_);
  return out;
}

}  // namespace sconce::autograd
