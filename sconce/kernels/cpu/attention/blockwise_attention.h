// Flash attention: scaled dot-product attention block by block, over [batch, heads, length, width] tensors
// of any strides.
#pragma once

#include "sconce/tensor/tensor.h"

namespace sconce {

// Scores are query . key * scale + mask; with `causal`, query i sees keys 0 to i. Keys and values may have fewer
// heads than queries, each then serves as many in a row. mask is undefined, or of the compute dtype (float64 for
// float64, float32 for all others), expanded to [batch, heads, queries, keys] with a last stride of 1. logsumexp is
// of the compute dtype.
struct AttentionArgs {
  Tensor query, key, value, mask;
  double scale;
  bool causal;
  // Dropout of the weights: bools, contiguous, [batch, heads, queries, keys], and the factor of what is
  // kept. Undefined without.
  Tensor kept;
  double kept_scale = 1;
};

void attention_forward(const AttentionArgs& args, const Tensor& out, const Tensor& logsumexp);
// Gradients have the sizes of their tensors and any strides.
void attention_backward(const AttentionArgs& args, const Tensor& grad_out, const Tensor& out, const Tensor& logsumexp,
                        const Tensor& grad_query, const Tensor& grad_key, const Tensor& grad_value);

}  // namespace sconce
