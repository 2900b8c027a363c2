// AccumulateGrad: the node of the backward graph at a leaf, which adds each gradient that arrives to the leaf's.
#pragma once

#include "sconce/autograd/graph/node.h"

namespace sconce::autograd {

// Owns its leaf; the leaf's state only points back (AutogradState::accumulator), so a leaf has one as long as a graph
// uses it.
class SCONCE_API AccumulateGrad final : public Node {
 public:
  explicit AccumulateGrad(Tensor leaf);
  ~AccumulateGrad() override;
  std::string name() const override { return "AccumulateGrad"; }
  // Takes the gradient over as it is if it has no other owner and the leaf's strides; adds in place if no gradient of
  // gradients is wanted; else makes a new one. Threads may arrive at once.
  void apply(const BackwardCall& call) override;
  void run_tensor_hooks(std::span<Tensor> grads) override;

  const Tensor& leaf() const { return leaf_; }

 private:
  Tensor leaf_;
};

// The accumulator of a leaf that requires grad, made if it has none.
Ref<Node> accumulator_of(const Tensor& leaf);

}  // namespace sconce::autograd
