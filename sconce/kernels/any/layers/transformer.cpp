// Layers of a transformer that are one operator in PyTorch.
#include <cmath>
#include <tuple>

#include "sconce/base/error.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/attention_kernels.h"
#include "sconce/kernels/any/layers/nested.h"
#include "sconce/ops.h"

namespace sconce::any_device {
namespace {

void check_width(const Tensor& t, const char* name, int64_t width) {
  SCONCE_CHECK(t.dim() == 3 && t.sizes()[2] == width, "expected {} of size [batch, length, {}], got {}", name, width,
               t.sizes());
}

// [batch, L, width] as [batch, heads, L, width / heads]
Tensor by_head(const Tensor& t, int64_t heads) {
  const IntList s = t.sizes();
  return transpose(reshape(t, {s[0], s[1], heads, s[2] / heads}), 1, 2);
}

// A padding mask of floats, 0 to keep and -inf to leave out, is what nn.MultiheadAttention makes of one of bools. As in
// PyTorch, whatever is not 0 leaves out.
Tensor truth_of(const Tensor& mask) { return mask.dtype() == DType::bool_ ? mask : ne(mask, 0); }

}  // namespace

Tensor _masked_softmax(const Tensor& self, const Tensor& mask, std::optional<int64_t> dim,
                       std::optional<int64_t> mask_type) {
  const Tensor left_out = softmax_mask(self, mask, mask_type);
  const int64_t along = dim.value_or(self.dim() - 1);
  const Tensor filled = masked_fill(self, left_out, -std::numeric_limits<double>::infinity());
  return softmax(contiguous(filled), along);
}

Tensor _masked_softmax_backward(const Tensor& grad_output, const Tensor& output, const Tensor& mask,
                                std::optional<int64_t> dim) {
  SCONCE_CHECK(mask.dtype() == DType::bool_, "Mask should be a boolean tensor");
  SCONCE_CHECK(mask.sizes() == output.sizes(), "Mask shape should match grad shape");
  const int64_t along = dim.value_or(output.dim() - 1);
  const Tensor kept = masked_fill(output, mask, 0);
  return masked_fill(_softmax_backward_data(masked_fill(grad_output, mask, 0), kept, along, output.dtype()), mask, 0);
}

std::tuple<Tensor, Tensor, Tensor> _transform_bias_rescale_qkv(const Tensor& qkv, const Tensor& qkv_bias,
                                                               int64_t num_heads) {
  SCONCE_CHECK(
      qkv.dim() == 3 && qkv_bias.dim() == 1 && qkv.sizes()[2] == qkv_bias.sizes()[0] && qkv.sizes()[2] % 3 == 0,
      "expected qkv of size [batch, length, 3 * width] and as many biases, got {} and {}", qkv.sizes(),
      qkv_bias.sizes());
  const int64_t width = qkv.sizes()[2] / 3;
  SCONCE_CHECK(num_heads > 0 && width % num_heads == 0, "width {} is no multiple of the {} heads", width, num_heads);
  const Tensor all = add(qkv, qkv_bias);
  const auto part = [&](int64_t i) { return by_head(slice(all, 2, i * width, (i + 1) * width), num_heads); };
  const int64_t head_width = width / num_heads;
  const double scale = 1 / std::sqrt(static_cast<double>(head_width));
  return {contiguous(mul(part(0), scale)), contiguous(part(1)), contiguous(part(2))};
}

std::tuple<Tensor, Tensor> _native_multi_head_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                                        int64_t embed_dim, int64_t num_head, const Tensor& qkv_weight,
                                                        const Tensor& qkv_bias, const Tensor& proj_weight,
                                                        const Tensor& proj_bias, const Tensor& mask, bool need_weights,
                                                        bool average_attn_weights, std::optional<int64_t> mask_type) {
  check_width(query, "query", embed_dim);
  check_width(key, "key", embed_dim);
  check_width(value, "value", embed_dim);
  SCONCE_CHECK(key.sizes() == value.sizes(), "expected `key`/`value` shapes to match, got {} and {}", key.sizes(),
               value.sizes());
  SCONCE_CHECK(qkv_weight.dim() == 2 && qkv_weight.sizes()[0] == 3 * embed_dim && qkv_weight.sizes()[1] == embed_dim,
               "expected `qkv_weight` of size [{}, {}], got {}", 3 * embed_dim, embed_dim, qkv_weight.sizes());
  SCONCE_CHECK(qkv_bias.dim() == 1 && qkv_bias.sizes()[0] == 3 * embed_dim, "expected `qkv_bias` of size [{}], got {}",
               3 * embed_dim, qkv_bias.sizes());
  SCONCE_CHECK(num_head > 0 && embed_dim % num_head == 0, "`embed_dim` must divide evenly by `num_heads`");
  Tensor q, k, v;
  if (query.is_same(key) && key.is_same(value)) {
    const Tensor all = linear(query, qkv_weight, qkv_bias);
    q = slice(all, 2, 0, embed_dim);
    k = slice(all, 2, embed_dim, 2 * embed_dim);
    v = slice(all, 2, 2 * embed_dim, 3 * embed_dim);
  } else {
    const auto projected = [&](const Tensor& t, int64_t i) {
      return linear(t, slice(qkv_weight, 0, i * embed_dim, (i + 1) * embed_dim),
                    slice(qkv_bias, 0, i * embed_dim, (i + 1) * embed_dim));
    };
    q = projected(query, 0);
    k = projected(key, 1);
    v = projected(value, 2);
  }
  q = by_head(q, num_head);
  k = by_head(k, num_head);
  v = by_head(v, num_head);
  Tensor context, weights;
  if (!need_weights && !mask.defined()) {
    context = scaled_dot_product_attention(q, k, v);
  } else {
    const int64_t head_width = embed_dim / num_head;
    const Tensor scores = matmul(mul(q, 1 / std::sqrt(static_cast<double>(head_width))), transpose(k, 2, 3));
    weights = mask.defined() ? any_device::_masked_softmax(scores, truth_of(mask), scores.dim() - 1, mask_type)
                             : softmax(scores, -1);
    context = matmul(weights, v);
  }
  const Tensor merged = reshape(transpose(context, 1, 2), query.sizes());
  const Tensor projected = linear(merged, proj_weight, proj_bias);
  if (!need_weights) return {projected, Tensor()};
  return {projected, average_attn_weights ? mean(weights, IntList{1}) : weights};
}

Tensor _transformer_encoder_layer_fwd(const Tensor& src, int64_t embed_dim, int64_t num_heads, const Tensor& qkv_weight,
                                      const Tensor& qkv_bias, const Tensor& proj_weight, const Tensor& proj_bias,
                                      bool use_gelu, bool norm_first, double eps, const Tensor& norm_weight_1,
                                      const Tensor& norm_bias_1, const Tensor& norm_weight_2, const Tensor& norm_bias_2,
                                      const Tensor& ffn_weight_1, const Tensor& ffn_bias_1, const Tensor& ffn_weight_2,
                                      const Tensor& ffn_bias_2, const Tensor& mask, std::optional<int64_t> mask_type) {
  if (const std::vector<int64_t>* lengths = nested_lengths(src)) {
    SCONCE_CHECK(!mask.defined(), "a nested tensor of sequences takes no mask, got one of size {}", mask.sizes());
    const Tensor padded = clone(src);  // the same elements, of an ordinary tensor
    constexpr int64_t kKeyPadding = 1;
    return make_nested(
        sconce::_transformer_encoder_layer_fwd(
            padded, embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias, use_gelu, norm_first, eps,
            norm_weight_1, norm_bias_1, norm_weight_2, norm_bias_2, ffn_weight_1, ffn_bias_1, ffn_weight_2, ffn_bias_2,
            padding_of(*lengths, src.size(1), src.device()), kKeyPadding),
        *lengths);
  }
  const auto first_norm = [&](const Tensor& t) { return layer_norm(t, {embed_dim}, norm_weight_1, norm_bias_1, eps); };
  const auto second_norm = [&](const Tensor& t) { return layer_norm(t, {embed_dim}, norm_weight_2, norm_bias_2, eps); };
  Tensor x = norm_first ? first_norm(src) : src;
  x = std::get<0>(sconce::_native_multi_head_attention(x, x, x, embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight,
                                                       proj_bias, mask, false, true, mask_type));
  x = add(x, src);
  if (!norm_first) x = first_norm(x);
  const Tensor before = x;
  if (norm_first) x = second_norm(x);
  x = linear(x, ffn_weight_1, ffn_bias_1);
  x = use_gelu ? gelu(x) : relu(x);
  x = add(linear(x, ffn_weight_2, ffn_bias_2), before);
  return norm_first ? x : second_norm(x);
}

}  // namespace sconce::any_device
