// AutogradState: what autograd keeps of a tensor that takes part in it (Note [The autograd slot] in view_base.h). The
// functions of variable.h are the way to it.
#pragma once

#include <memory>
#include <mutex>

#include "sconce/autograd/graph/node.h"
#include "sconce/tensor/view_base.h"

namespace sconce::autograd {

class AccumulateGrad;
struct TensorHooks;
struct RetainedGrad;

struct SCONCE_API AutogradState final : ViewMeta {
  AutogradState();
  ~AutogradState() override;

  std::mutex mutex;  // of accumulator: threads may use one parameter at once
  Tensor grad;
  Ref<Node> grad_fn;    // null for leaves
  uint32_t output = 0;  // which of grad_fn's outputs this tensor is
  bool asked = false;   // of a view: requires_grad_() was called on itself, so that it has a gradient as a leaf
  std::shared_ptr<RetainedGrad> retained;  // of a tensor with retain_grad that is not a leaf
  AccumulateGrad* accumulator = nullptr;   // of a leaf, not owned: the graph owns it, and clears this when it goes
  std::unique_ptr<TensorHooks> hooks;
};

// Null if the tensor has none.
inline AutogradState* state_of(const Tensor& t) { return static_cast<AutogradState*>(view_meta(*t.impl())); }
// Made if there is none. The caller is the only user of the tensor, or the tensor is a leaf being set up.
AutogradState& make_state(const Tensor& t);

}  // namespace sconce::autograd
