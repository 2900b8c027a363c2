#include "sconce/kernels/any/layers/attention_choice.h"

#include "sconce/base/variants/variants.h"
#include "sconce/generated/attention_kernels.h"

namespace sconce {

namespace {
SCONCE_VARIANT(in_blocks, "attention.blocks", "4 dims, equal heads or groups of them, no dropout: in blocks of keys");
}  // namespace

bool attention_heads_fit(const Tensor& query, const Tensor& key) {
  const int64_t few = key.sizes()[1], many = query.sizes()[1];
  return few > 0 && many % few == 0;
}

bool attention_mask_fits(const Tensor& mask, const Tensor& query, const Tensor& key) {
  if (mask.dim() != 2 && mask.dim() != 4) return false;
  const int64_t wanted[] = {query.sizes()[0], query.sizes()[1], query.sizes()[2], key.sizes()[2]};
  for (int64_t d = 0; d < mask.dim(); ++d) {
    const int64_t size = mask.sizes()[static_cast<size_t>(d)];
    if (size != 1 && size != wanted[4 - mask.dim() + d]) return false;
  }
  return true;
}

bool attention_fits_blocks(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& attn_mask,
                           double dropout_p, bool enable_gqa) {
  return dropout_p == 0 && is_floating(query.dtype()) && query.dim() == 4 && key.dim() == 4 && value.dim() == 4 &&
         query.sizes()[0] == key.sizes()[0] && query.sizes()[0] == value.sizes()[0] &&
         key.sizes()[1] == value.sizes()[1] &&
         (query.sizes()[1] == key.sizes()[1] || (enable_gqa && attention_heads_fit(query, key))) &&
         query.sizes()[3] == key.sizes()[3] && query.sizes()[3] == value.sizes()[3] &&
         key.sizes()[2] == value.sizes()[2] && query.numel() > 0 && key.numel() > 0 &&
         (!attn_mask.defined() || (attention_mask_fits(attn_mask, query, key) && !attn_mask.requires_grad()));
}

namespace any_device {

// 1 stands for the kernel that computes in blocks (_scaled_dot_product_flash_attention_for_cpu), 0 for a composition of
// operators. Devices whose kernel in blocks takes only some of these arguments answer themselves.
int64_t _fused_sdp_choice(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& attn_mask,
                          double dropout_p, bool, std::optional<double>, bool enable_gqa) {
  return in_blocks(attention_fits_blocks(query, key, value, attn_mask, dropout_p, enable_gqa)) ? 1 : 0;
}

}  // namespace any_device
}  // namespace sconce
