// Gradient checkpointing: `f` runs without saving tensors for its backward, and runs again when backward comes.
#pragma once

#include <functional>
#include <vector>

#include "sconce/tensor/tensor.h"

namespace sconce::autograd {

using Checkpointed = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

struct CheckpointOptions {
  bool preserve_rng_state = true;  // dropout draws the same numbers again
};

// Gradients of the inputs and of everything that f uses are those of f itself. Nests. Throws in backward if the second
// run saves other tensors than the first.
SCONCE_API std::vector<Tensor> checkpoint(const Checkpointed& f, const std::vector<Tensor>& inputs,
                                          CheckpointOptions options = {});

}  // namespace sconce::autograd
