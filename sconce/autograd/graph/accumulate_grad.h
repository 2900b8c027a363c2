// AccumulateGrad: the end of the backward graph at a leaf. Adds what arrives to the leaf's gradient.
#pragma once

#include "sconce/autograd/graph/node.h"

namespace sconce::autograd {

// Owns its leaf; the leaf's Meta only points back (Meta::accumulator), so a leaf has one as long as a graph uses it.
class AccumulateGrad final : public Node {
 public:
  explicit AccumulateGrad(Tensor leaf);
  ~AccumulateGrad() override;
  std::string name() const override { return "AccumulateGrad"; }
  // Takes the gradient over as it is where nobody else has it and its strides are the leaf's; adds in place where no
  // gradient of gradients is wanted; else makes a new one. Threads may arrive at once.
  void apply(const BackwardCall& call) override;
  void run_tensor_hooks(std::span<Tensor> grads) override;

  const Tensor& leaf() const { return leaf_; }

 private:
  Tensor leaf_;
};

// The accumulator of a leaf that requires grad, made where it has none.
Ref<Node> accumulator_of(const Tensor& leaf);

}  // namespace sconce::autograd
