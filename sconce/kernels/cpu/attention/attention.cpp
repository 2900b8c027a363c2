// Attention in blocks: checks and results.
#include <cmath>
#include <tuple>

#include "sconce/kernels/cpu/attention/blockwise_attention.h"

#include "sconce/base/error.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/attention_kernels.h"
#include "sconce/kernels/any/layers/attention_choice.h"
#include "sconce/ops.h"
#include "sconce/tensor/grad_mode.h"
#include "sconce/tensor/strides.h"

namespace sconce::cpu {
namespace {

AttentionArgs arguments(const Tensor& query, const Tensor& key, const Tensor& value, double dropout_p, bool is_causal,
                        const Tensor& attn_mask, std::optional<double> scale) {
  const char* name = "scaled_dot_product_attention_flash_attention";
  SCONCE_CHECK(is_floating(query.dtype()), "{}: Expected data type in FP32, FP64, BF16, FP16, but got {} instead.",
               name, dtype_legacy_name(query.dtype()));
  SCONCE_CHECK(query.dim() == 4 && key.dim() == 4 && value.dim() == 4,
               "{}: Accept only 4 dims inputs shape of (B, H, T, K)", name);
  SCONCE_CHECK(dropout_p == 0, "{}: Currently do not support dropout > 0", name);
  SCONCE_CHECK(query.sizes()[3] == value.sizes()[3] && key.sizes()[3] == value.sizes()[3],
               "{}: Q/K/V should have the same head size", name);
  SCONCE_CHECK(query.dtype() == key.dtype() && query.dtype() == value.dtype(),
               "{}: Q/K/V should have the same data type", name);
  SCONCE_CHECK(
      query.sizes()[0] == key.sizes()[0] && query.sizes()[0] == value.sizes()[0] &&
          key.sizes()[2] == value.sizes()[2] && key.sizes()[1] == value.sizes()[1] && attention_heads_fit(query, key),
      "{}: sizes of query {}, key {} and value {} do not fit", name, query.sizes(), key.sizes(), value.sizes());
  AttentionArgs args{query, key, value, {}, 0, is_causal, {}};
  args.scale = scale.value_or(1 / std::sqrt(static_cast<double>(std::max<int64_t>(1, query.sizes()[3]))));
  if (attn_mask.defined()) {
    SCONCE_CHECK(attn_mask.dtype() == query.dtype() || attn_mask.dtype() == DType::float32,
                 "{}: Attention mask is the same data type as query", name);
    SCONCE_CHECK(attention_mask_fits(attn_mask, query, key),
                 "{}: Attention mask dim in {2, 4}, of sizes that fit the scores, got {}", name, attn_mask.sizes());
    const DType compute = query.dtype() == DType::float64 ? DType::float64 : DType::float32;
    Tensor mask = attn_mask.is_meta() ? attn_mask : to_dtype(attn_mask, compute);
    if (mask.sizes().back() != key.sizes()[2] || mask.strides().back() != 1) {
      Dims sizes(mask.sizes());
      sizes.back() = key.sizes()[2];
      mask = contiguous_tensor(expand(mask, sizes));
    }
    args.mask = expand(mask, {query.sizes()[0], query.sizes()[1], query.sizes()[2], key.sizes()[2]});
  }
  return args;
}

AttentionArgs with_dropout(AttentionArgs args, const Tensor& kept, double dropout_p) {
  const IntList q = args.query.sizes(), k = args.key.sizes();
  SCONCE_CHECK(kept.dtype() == DType::bool_ && kept.sizes() == IntList({q[0], q[1], q[2], k[2]}) && q[1] == k[1],
               "attention_with_dropout: kept must be bools of size [{}, {}, {}, {}], got {}", q[0], q[1], q[2], k[2],
               kept.sizes());
  SCONCE_CHECK(dropout_p >= 0 && dropout_p < 1, "attention_with_dropout: dropout_p must be in [0, 1), got {}",
               dropout_p);
  args.kept = kept.is_meta() ? kept : contiguous_tensor(kept);
  args.kept_scale = 1 / (1 - dropout_p);
  return args;
}

// As `like`, dense in the order of its strides.
Tensor same_layout(const Tensor& like) {
  return empty_strided_tensor(like.sizes(), preserved_strides(like.sizes(), like.strides()), like.dtype(),
                              like.device());
}

// [batch, heads, length, width] that lies in memory as [batch, length, heads, width].
Tensor by_length(const Tensor& like, DType dtype) {
  const IntList s = like.sizes();
  return transpose(empty_tensor({s[0], s[2], s[1], s[3]}, dtype, like.device()), 1, 2);
}

std::tuple<Tensor, Tensor> run(const AttentionArgs& args) {
  const Tensor& query = args.query;
  const Tensor out = same_layout(query);
  const IntList s = query.sizes();
  const DType compute = query.dtype() == DType::float64 ? DType::float64 : DType::float32;
  const Tensor logsumexp = transpose(empty_tensor({s[0], s[2], s[1]}, compute, query.device()), 1, 2);
  if (!query.is_meta()) attention_forward(args, out, logsumexp);
  return {out, logsumexp};
}

std::tuple<Tensor, Tensor, Tensor> run_backward(const AttentionArgs& args, const Tensor& grad_out, const Tensor& out,
                                                const Tensor& logsumexp) {
  const auto& [query, key, value, mask, scale, causal, kept, kept_scale] = args;
  SCONCE_CHECK(grad_out.sizes() == query.sizes() && out.sizes() == query.sizes() && logsumexp.dim() == 3 &&
                   logsumexp.sizes() == query.sizes().slice(0, 3),
               "sizes of grad_out {}, out {} or logsumexp {} do not fit query {}", grad_out.sizes(), out.sizes(),
               logsumexp.sizes(), query.sizes());
  const DType compute = query.dtype() == DType::float64 ? DType::float64 : DType::float32;
  const Tensor grad_query = by_length(query, query.dtype()), grad_key = by_length(key, key.dtype()),
               grad_value = by_length(value, value.dtype());
  if (!query.is_meta())
    attention_backward(args, grad_out, out, to_dtype(logsumexp, compute), grad_query, grad_key, grad_value);
  return {grad_query, grad_key, grad_value};
}

}  // namespace

std::tuple<Tensor, Tensor> _scaled_dot_product_flash_attention_for_cpu(const Tensor& query, const Tensor& key,
                                                                       const Tensor& value, double dropout_p,
                                                                       bool is_causal, const Tensor& attn_mask,
                                                                       std::optional<double> scale) {
  return run(arguments(query, key, value, dropout_p, is_causal, attn_mask, scale));
}

std::tuple<Tensor, Tensor> sconce_attention_with_dropout(const Tensor& query, const Tensor& key, const Tensor& value,
                                                         const Tensor& kept, double dropout_p, bool is_causal,
                                                         const Tensor& attn_mask, std::optional<double> scale) {
  return run(with_dropout(arguments(query, key, value, 0, is_causal, attn_mask, scale), kept, dropout_p));
}

std::tuple<Tensor, Tensor, Tensor> _scaled_dot_product_flash_attention_for_cpu_backward(
    const Tensor& grad_out, const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& out,
    const Tensor& logsumexp, double dropout_p, bool is_causal, const Tensor& attn_mask, std::optional<double> scale) {
  return run_backward(arguments(query, key, value, dropout_p, is_causal, attn_mask, scale), grad_out, out, logsumexp);
}

std::tuple<Tensor, Tensor, Tensor> sconce_attention_with_dropout_backward(const Tensor& grad_out, const Tensor& query,
                                                                          const Tensor& key, const Tensor& value,
                                                                          const Tensor& kept, const Tensor& out,
                                                                          const Tensor& logsumexp, double dropout_p,
                                                                          bool is_causal, const Tensor& attn_mask,
                                                                          std::optional<double> scale) {
  const auto recorded = [](const Tensor& t) { return t.requires_grad(); };
  if (grad_enabled() && (recorded(grad_out) || recorded(query) || recorded(key) || recorded(value))) {
    return sconce::attention_gradients(grad_out, query, key, value, kept, dropout_p, is_causal, attn_mask, scale);
  }
  return run_backward(with_dropout(arguments(query, key, value, 0, is_causal, attn_mask, scale), kept, dropout_p),
                      grad_out, out, logsumexp);
}

}  // namespace sconce::cpu
