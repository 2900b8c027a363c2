// Attention arguments: checks that they fit together, and chooses the way attention is computed.
#pragma once

#include "sconce/tensor/tensor.h"

namespace sconce {

// Both take [batch, heads, length, width]. Each head of `key` serves the same number of heads of `query`.
bool attention_heads_fit(const Tensor& query, const Tensor& key);
// The mask may be broadcast to the scores.
bool attention_mask_fits(const Tensor& mask, const Tensor& query, const Tensor& key);

}  // namespace sconce
