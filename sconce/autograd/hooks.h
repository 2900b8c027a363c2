// Hooks: user code that autograd calls. Order at a node: hooks of tensors (pre), retained grads, pre-hooks of the
// node, apply, post-hooks of the node; behind an AccumulateGrad the post-accumulate hooks of the leaf. A handle
// removes its hook.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "sconce/autograd/graph/node.h"

namespace sconce::autograd {

// Gets the gradient of a tensor (undefined if none arrived) and returns another one, or undefined to keep it.
using TensorHook = std::function<Tensor(const Tensor& grad)>;
using PostAccumulateHook = std::function<void(const Tensor& leaf)>;
// Gradients of outputs, before apply; may replace them.
using NodePreHook = std::function<void(std::vector<Tensor>& grads)>;
// After apply: gradients of inputs, which it may replace, and those of outputs.
using NodePostHook = std::function<void(std::vector<Tensor>& inputs, const std::vector<Tensor>& grads)>;

class SCONCE_API HookHandle {
 public:
  HookHandle() = default;
  explicit HookHandle(std::function<void()> remove) : remove_(std::move(remove)) {}
  void remove();  // a second call does nothing

 private:
  std::function<void()> remove_;
};

// Throws if the tensor does not require grad.
SCONCE_API HookHandle register_hook(const Tensor& t, TensorHook hook);
// Throws if it is not a leaf that requires grad.
SCONCE_API HookHandle register_post_accumulate_grad_hook(const Tensor& t, PostAccumulateHook hook);
SCONCE_API HookHandle register_pre_hook(Node& node, NodePreHook hook);
SCONCE_API HookHandle register_post_hook(Node& node, NodePostHook hook);

}  // namespace sconce::autograd
