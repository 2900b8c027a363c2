// Attention arguments: checks that they fit together, and whether a kernel that computes in blocks takes them.
#pragma once

#include "sconce/tensor/tensor.h"

namespace sconce {

// Both take [batch, heads, length, width]. Each head of `key` serves the same number of heads of `query`.
bool attention_heads_fit(const Tensor& query, const Tensor& key);
// The mask may be broadcast to the scores.
bool attention_mask_fits(const Tensor& mask, const Tensor& query, const Tensor& key);

// Whether the arguments are those of _scaled_dot_product_flash_attention_for_cpu.
SCONCE_API bool attention_fits_blocks(const Tensor& query, const Tensor& key, const Tensor& value,
                                      const Tensor& attn_mask, double dropout_p, bool enable_gqa);

}  // namespace sconce
