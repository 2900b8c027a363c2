// SavedTensor: a tensor that a node keeps for its backward. It notices when the tensor was written in place since,
// passes through the thread's saved-tensor hooks, and makes no cycle with the node that made it.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "sconce/autograd/graph/node.h"
#include "sconce/types/value.h"

namespace sconce::autograd {

// Pack a tensor when it is saved and unpack it when it is used (torch.autograd.graph.saved_tensors_hooks).
struct SavedTensorHooks {
  std::function<Value(const Tensor&)> pack;
  std::function<Tensor(const Value&)> unpack;
};

// For a scope: hooks for every tensor that this thread saves. They nest; the innermost counts.
class SCONCE_API SavedTensorHooksGuard {
 public:
  explicit SavedTensorHooksGuard(SavedTensorHooks hooks);
  ~SavedTensorHooksGuard();
  SavedTensorHooksGuard(const SavedTensorHooksGuard&) = delete;
  SavedTensorHooksGuard& operator=(const SavedTensorHooksGuard&) = delete;
};

// All of this thread's hooks, to be carried to another thread.
using SavedTensorHookStack = std::vector<std::shared_ptr<const SavedTensorHooks>>;
SCONCE_API SavedTensorHookStack saved_tensor_hooks();
bool has_saved_tensor_hooks() noexcept;
SCONCE_API void set_saved_tensor_hooks(SavedTensorHookStack stack);

// The error of a node whose saved tensors were freed.
inline constexpr std::string_view kSecondBackward =
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already been "
    "freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify "
    "retain_graph=True if you need to backward through the graph a second time or if you need to access saved tensors "
    "after calling backward.";

class SCONCE_API SavedTensor {
 public:
  SavedTensor() = default;
  // Throws for inference tensors. An undefined tensor is unpacked as one.
  explicit SavedTensor(const Tensor& t) : SavedTensor(t, kInput) {}
  // A result of the operation itself, output `slot` of the node that keeps it.
  SavedTensor(const Tensor& t, uint32_t slot);

  // The tensor itself, while no hook has it; undefined otherwise.
  const Tensor& tensor() const { return tensor_; }
  bool is_unchanged() const { return tensor_.defined() && tensor_.version() == version_; }
  // Lets go of the tensor, which `unpack` of the hooks gives from now on, and returns it.
  Tensor replace_by(std::shared_ptr<const SavedTensorHooks> hooks);

  // The tensor with its history, as it was. `owner` is the node that keeps it. Throws if it was written since.
  Tensor unpack(Node* owner) const;

 private:
  static constexpr uint32_t kInput = ~0u;
  struct Packed;
  Tensor tensor_;                   // without history if it is an output
  std::shared_ptr<Packed> packed_;  // instead of the tensor, if there were hooks
  uint32_t version_ = 0;
  uint32_t slot_ = kInput;
  bool requires_grad_ = false;
};

}  // namespace sconce::autograd
