// Attention on CUDA devices. 16-bit floats: by cuDNN where rows are many, else by kernels that keep no matrix of
// weights, too (text/attention/; on Hopper by warp groups). Others, and gradients of long rows: by products, scores,
// softmax, values, in float32 (float64) throughout. Heads of keys may be fewer than those of queries.
#include <algorithm>
#include <bit>
#include <cmath>

#include <fmt/format.h>

#include "sconce/base/error.h"
#include "sconce/generated/attention_cuda_kernels.h"
#include "sconce/kernels/any/layers/attention_choice.h"
#include "sconce/kernels/cuda/cudnn/cudnn.h"
#include "sconce/kernels/cuda/device/context.h"
#include "sconce/kernels/cuda/device/launch.h"
#include "sconce/kernels/cuda/row_kernels.h"
#include "sconce/kernels/cuda/shared_types.h"
#include "sconce/kernels/cuda/texts.h"
#include "sconce/ops.h"
#include "sconce/tensor/grad_mode.h"

namespace sconce::cuda {
namespace {

#include "sconce/kernels/cuda/text/attention/attention_arguments.cuh"
#include "sconce/kernels/cuda/text/attention/attention_backward_arguments.cuh"

const Device kMeta(DeviceType::meta);
constexpr int64_t kLargestRow = 256, kMostHeads = 65535;

Tensor on_meta(const Tensor& t) {
  return t.defined() ? empty_strided_tensor(t.sizes(), t.strides(), t.dtype(), kMeta) : t;
}
Tensor like(const Tensor& meta, Device device) {
  return empty_strided_tensor(meta.sizes(), meta.strides(), meta.dtype(), device);
}
DType compute_dtype(const Tensor& t) { return t.dtype() == DType::float64 ? DType::float64 : DType::float32; }
double scale_of(const Tensor& query, std::optional<double> scale) {
  return scale ? *scale : 1 / std::sqrt(static_cast<double>(query.size(-1)));
}

// Each head of keys or values for the heads of queries that share it.
Tensor for_heads(const Tensor& t, const Tensor& query) {
  const int64_t times = query.size(1) / t.size(1);
  return times == 1 ? t : sconce::repeat_interleave(t, times, 1);
}
// The sum over the heads that shared one.
Tensor of_heads(const Tensor& grad, const Tensor& given) {
  const int64_t times = grad.size(1) / given.size(1);
  if (times == 1) return grad;
  return sconce::sum(sconce::reshape(grad, {grad.size(0), given.size(1), times, grad.size(2), grad.size(3)}),
                     IntList({2}));
}

Tensor scores_of(const Tensor& q, const Tensor& k, bool is_causal, const Tensor& mask, double scale) {
  Tensor s = sconce::mul(sconce::matmul(q, sconce::transpose(k, -2, -1)), Scalar(scale));
  if (mask.defined()) s = sconce::add(s, sconce::to(mask, s.dtype()));
  if (is_causal) {
    const Tensor shown = sconce::tril(sconce::ones({s.size(-2), s.size(-1)}, DType::bool_, {}, s.device()));
    s = sconce::masked_fill(s, sconce::logical_not(shown), Scalar(-INFINITY));
  }
  return s;
}

// --- one kernel -----------------------------------------------------------------------------------------------------

struct Variant {
  DType dtype, mask;
  int size;   // of a row, with what is filled up
  int tiles;  // of 16 queries for each warp; 0: by warp groups
  bool is_causal, is_masked;
};

std::string source_of(const Variant& v) {
  std::string out(text_file("prelude"));
  out += fmt::format(
      "#define FULL_WARP 0xffffffffu\nusing T = {};\nusing Mask = {};\nconstexpr int D = {};\n#define TILES "
      "{}\n#define CAUSAL {}\n#define MASKED {}\n",
      stored_type(v.dtype), stored_type(v.mask), v.size, v.tiles, v.is_causal ? 1 : 0, v.is_masked ? 1 : 0);
  out += text_file("tensor_cores");
  if (v.tiles == 0) out += text_file("warp_groups");
  for (const char* file : {"attention_arguments", "attention_rows"}) out += text_file(file);
  out += text_file(v.tiles == 0 ? "attention_groups" : "attention");
  return out;
}

// Rows of 16-byte chunks.
bool has_chunks(const Tensor& t) {
  bool fits = t.strides()[3] == 1 && reinterpret_cast<uintptr_t>(t.data()) % 16 == 0;
  for (int d = 0; d < 3; ++d) fits &= t.sizes()[d] == 1 || t.strides()[d] % 8 == 0;
  return fits;
}

// A copy begins at a multiple of 16 bytes, where a contiguous tensor may not.
Tensor with_chunks(const Tensor& t) { return has_chunks(t) ? t : sconce::clone(t, MemoryFormat::contiguous); }

void put_strides(i64 (&to)[3], const Tensor& t) {
  for (int d = 0; d < 3; ++d) to[d] = t.strides()[d];
}

// What is the same in the arguments of both directions. The elements of a row that kernels have.
template <class Arguments>
int put_problem(Arguments& a, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask, double scale) {
  a.query = q.data();
  a.key = k.data();
  a.value = v.data();
  put_strides(a.query_stride, q);
  put_strides(a.key_stride, k);
  put_strides(a.value_stride, v);
  if (mask.defined()) {
    const Tensor wide = sconce::expand(mask, {q.size(0), q.size(1), q.size(2), k.size(2)});
    a.mask = wide.data();
    for (int d = 0; d < 4; ++d) a.mask_stride[d] = wide.strides()[d];
  }
  a.heads = static_cast<int>(q.size(1));
  a.key_heads = static_cast<int>(k.size(1));
  a.queries = static_cast<int>(q.size(2));
  a.keys = static_cast<int>(k.size(2));
  a.size = static_cast<int>(q.size(3));
  a.scale = static_cast<float>(scale);
  return std::max(64, static_cast<int>(std::bit_ceil(static_cast<unsigned>(a.size))));
}

// The largest score is that of the largest product: `scale` is positive. (0 times the level of no key, -inf, is NaN.)
bool takes_one_kernel(const Tensor& query, const Tensor& key, const Tensor& value, double scale) {
  const int64_t size = query.size(3);
  return scale > 0 && is_reduced_float(query.dtype()) && size % 8 == 0 && size > 0 && size <= kLargestRow &&
         value.size(3) == size && key.size(2) > 0 && query.numel() > 0 && query.size(1) % key.size(1) == 0 &&
         query.size(0) * query.size(1) <= kMostHeads;
}

// Where there is enough to do: few rows gain nothing, and a plan of cuDNN takes milliseconds to make. Not with masks,
// which may hide whole rows.
bool attend_by_library(const Tensor& query, const Tensor& key, const Tensor& value, bool is_causal, const Tensor& mask,
                       double scale, const Tensor& out, const Tensor& level) {
  constexpr int64_t kFewestRows = 256, kLargestSize = 128;
  if (query.size(2) < kFewestRows || key.size(2) < kFewestRows || query.size(3) > kLargestSize || mask.defined() ||
      (is_causal && query.size(2) > key.size(2)) || level.dtype() != DType::float32)
    return false;
  return attend_by_cudnn({&query, &key, &value, &out, &level, is_causal, scale});
}

void one_kernel(const Tensor& query, const Tensor& key, const Tensor& value, bool is_causal, const Tensor& mask,
                double scale, const Tensor& out, const Tensor& level) {
  const Tensor q = with_chunks(query), k = with_chunks(key), v = with_chunks(value);
  if (has_chunks(out) && attend_by_library(q, k, v, is_causal, mask, scale, out, level)) return;
  const Tensor o = has_chunks(out) ? out : empty_tensor(out.sizes(), out.dtype(), out.device());
  const Tensor l =
      level.dtype() == DType::float32 ? level : empty_tensor(level.sizes(), DType::float32, level.device());
  AttentionArguments a{};
  a.out = o.data();
  a.level = static_cast<float*>(l.data());
  put_strides(a.out_stride, o);
  put_strides(a.level_stride, l);
  const int size = put_problem(a, q, k, v, mask, scale);
  const Device device = query.device();
  // Registers hold no more; few queries need no more. Warp groups are Hopper's alone.
  const bool is_wide = size <= 128 && q.size(2) > 64, by_groups = is_wide && properties(device).architecture() == 90;
  const int tiles = by_groups ? 0 : is_wide ? 2 : 1;
  const Variant variant{q.dtype(),     mask.defined() ? mask.dtype() : DType::float32, size, tiles, is_causal,
                        mask.defined()};
  const Kernel& kernel = find_kernel(
      device,
      fmt::format("attention/{}.{}/{}.{}{}{}", static_cast<int>(variant.dtype), static_cast<int>(variant.mask), size,
                  tiles, is_causal ? "c" : "", variant.is_masked ? "m" : ""),
      [&variant] { return source_of(variant); }, "attention");
  const int64_t of_block = by_groups ? 128 : 64 * tiles;  // queries
  Shape shape;
  shape.grid_x = static_cast<unsigned>((q.size(2) + of_block - 1) / of_block);
  shape.grid_y = static_cast<unsigned>(q.size(0) * q.size(1));
  shape.block_x = by_groups ? 256 : 128;
  // Queries; two stages of keys and values.
  shape.shared_bytes = static_cast<unsigned>((2 * of_block + 8 * (by_groups ? 128 : 64)) * size);
  constexpr int64_t kCached =
      16 << 20;  // bytes of keys and values that are read from the L2 cache, a third of Hopper's
  a.set = static_cast<int>(std::clamp<int64_t>(kCached / (4 * k.size(2) * k.size(3)), 1, q.size(0) * q.size(1)));
  launch(device, kernel, shape, &a, sizeof a, "scaled_dot_product_attention");
  if (!o.is_same(out)) sconce::copy_(out, o);
  if (!l.is_same(level)) sconce::copy_(level, l);
}

// --- its gradients, in two kernels ----------------------------------------------------------------------------------

constexpr int64_t kLargestBackwardRow = 128;  // registers hold no more

std::tuple<Tensor, Tensor, Tensor> backward_kernels(const Tensor& grad_out, const Tensor& query, const Tensor& key,
                                                    const Tensor& value, const Tensor& out, const Tensor& logsumexp,
                                                    bool is_causal, const Tensor& mask, double scale) {
  const Tensor q = with_chunks(query), k = with_chunks(key), v = with_chunks(value), g = with_chunks(grad_out);
  const Tensor share =
      dense(sconce::sum(sconce::mul(sconce::to(g, DType::float32), sconce::to(out, DType::float32)), IntList({-1})));
  const Tensor level = dense(sconce::to(logsumexp, DType::float32));
  const auto room = [](const Tensor& t) { return empty_tensor(t.sizes(), t.dtype(), t.device()); };
  const Tensor of_query = room(q), of_key = room(k), of_value = room(v);
  AttentionBackwardArguments a{};
  a.grad = g.data();
  a.of_query = of_query.data();
  a.of_key = of_key.data();
  a.of_value = of_value.data();
  a.level = static_cast<const float*>(level.data());
  a.share = static_cast<const float*>(share.data());
  put_strides(a.grad_stride, g);
  put_strides(a.of_query_stride, of_query);
  put_strides(a.of_key_stride, of_key);
  put_strides(a.of_value_stride, of_value);
  const int size = put_problem(a, q, k, v, mask, scale);
  const DType of_mask = mask.defined() ? mask.dtype() : DType::float32;
  for (const bool queries : {true, false}) {
    const Kernel& kernel = find_kernel(
        q.device(),
        fmt::format("attention_backward/{}.{}/{}{}{}{}", static_cast<int>(q.dtype()), static_cast<int>(of_mask), size,
                    queries ? "q" : "k", is_causal ? "c" : "", mask.defined() ? "m" : ""),
        [&] {
          std::string text(text_file("prelude"));
          text += fmt::format(
              "#define FULL_WARP 0xffffffffu\nusing T = {};\nusing Mask = {};\nconstexpr int D = {};\n#define QUERIES "
              "{}\n#define CAUSAL {}\n#define MASKED {}\n",
              stored_type(q.dtype()), stored_type(of_mask), size, queries ? 1 : 0, is_causal ? 1 : 0,
              mask.defined() ? 1 : 0);
          for (const char* file : {"tensor_cores", "attention_backward_arguments", "attention_backward"})
            text += text_file(file);
          return text;
        },
        "attention_backward");
    const Tensor& rows = queries ? q : k;
    Shape shape;
    shape.grid_x = static_cast<unsigned>((rows.size(2) + 63) / 64);
    shape.grid_y = static_cast<unsigned>(rows.size(0) * rows.size(1));
    shape.block_x = 128;
    shape.shared_bytes = static_cast<unsigned>(6 * 64 * 2 * size);
    launch(q.device(), kernel, shape, &a, sizeof a, "scaled_dot_product_attention");
  }
  return {of_query, of_key, of_value};
}

}  // namespace

// What no kernel keeps in blocks runs by operators that plans know: products, and a softmax between them.
int64_t _fused_sdp_choice(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& attn_mask,
                          double dropout_p, bool, std::optional<double> scale, bool enable_gqa) {
  return attention_fits_blocks(query, key, value, attn_mask, dropout_p, enable_gqa) &&
                 takes_one_kernel(query, key, value, scale_of(query, scale))
             ? 1
             : 0;
}

std::tuple<Tensor, Tensor> _scaled_dot_product_flash_attention_for_cpu(const Tensor& query, const Tensor& key,
                                                                       const Tensor& value, double dropout_p,
                                                                       bool is_causal, const Tensor& attn_mask,
                                                                       std::optional<double> scale) {
  const auto [out_spec, lse_spec] = sconce::_scaled_dot_product_flash_attention_for_cpu(
      on_meta(query), on_meta(key), on_meta(value), dropout_p, is_causal, on_meta(attn_mask), scale);
  const Tensor out = like(out_spec, query.device()), lse = like(lse_spec, query.device());
  if (takes_one_kernel(query, key, value, scale_of(query, scale))) {
    one_kernel(query, key, value, is_causal, attn_mask, scale_of(query, scale), out, lse);
    return {out, lse};
  }
  const DType compute = compute_dtype(query);
  const Tensor q = sconce::to(query, compute), k = sconce::to(for_heads(key, query), compute),
               v = sconce::to(for_heads(value, query), compute);
  const Tensor scores = scores_of(q, k, is_causal, attn_mask, scale_of(query, scale));
  const Tensor level = sconce::logsumexp(scores, {-1}, true);
  const Tensor weights = sconce::exp(sconce::sub(scores, level));
  sconce::copy_(out, sconce::matmul(weights, v));
  sconce::copy_(lse, sconce::view(dense(level), {query.size(0), query.size(1), query.size(2)}));
  return {out, lse};
}

std::tuple<Tensor, Tensor, Tensor> _scaled_dot_product_flash_attention_for_cpu_backward(
    const Tensor& grad_out, const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& out,
    const Tensor& logsumexp, double, bool is_causal, const Tensor& attn_mask, std::optional<double> scale) {
  const DType compute = compute_dtype(query);
  const double factor = scale_of(query, scale);
  if (takes_one_kernel(query, key, value, factor) && query.size(3) <= kLargestBackwardRow &&
      grad_out.dtype() == query.dtype())
    return backward_kernels(grad_out, query, key, value, out, logsumexp, is_causal, attn_mask, factor);
  const Tensor q = sconce::to(query, compute), k = sconce::to(for_heads(key, query), compute),
               v = sconce::to(for_heads(value, query), compute), g = sconce::to(grad_out, compute);
  const Tensor level = sconce::unsqueeze(sconce::to(logsumexp, compute), -1);
  const Tensor weights = sconce::exp(sconce::sub(scores_of(q, k, is_causal, attn_mask, factor), level));
  const Tensor for_value = of_heads(sconce::matmul(sconce::transpose(weights, -2, -1), g), value);
  const Tensor products = sconce::matmul(g, sconce::transpose(v, -2, -1));
  const Tensor shares = sconce::sum(sconce::mul(g, sconce::to(out, compute)), IntList({-1}), true);
  const Tensor d = sconce::mul(sconce::mul(weights, sconce::sub(products, shares)), Scalar(factor));
  return {sconce::to(sconce::matmul(d, k), query.dtype()),
          sconce::to(of_heads(sconce::matmul(sconce::transpose(d, -2, -1), q), key), key.dtype()),
          sconce::to(for_value, value.dtype())};
}

// With dropout: the weights that `kept` has, over 1 - p; what they are taken of does not change.
std::tuple<Tensor, Tensor> sconce_attention_with_dropout(const Tensor& query, const Tensor& key, const Tensor& value,
                                                         const Tensor& kept, double dropout_p, bool is_causal,
                                                         const Tensor& attn_mask, std::optional<double> scale) {
  const DType compute = compute_dtype(query);
  const Tensor q = sconce::to(query, compute), k = sconce::to(key, compute), v = sconce::to(value, compute);
  const Tensor scores = scores_of(q, k, is_causal, attn_mask, scale_of(query, scale));
  const Tensor level = sconce::logsumexp(scores, {-1}, true);
  const Tensor weights = sconce::keep_scaled(sconce::exp(sconce::sub(scores, level)), kept, 1 - dropout_p);
  return {sconce::to(sconce::matmul(weights, v), query.dtype()), sconce::squeeze(level, -1)};
}

std::tuple<Tensor, Tensor, Tensor> sconce_attention_with_dropout_backward(const Tensor& grad_out, const Tensor& query,
                                                                          const Tensor& key, const Tensor& value,
                                                                          const Tensor& kept, const Tensor& out,
                                                                          const Tensor& logsumexp, double dropout_p,
                                                                          bool is_causal, const Tensor& attn_mask,
                                                                          std::optional<double> scale) {
  bool recorded = grad_enabled() && grad_out.requires_grad();
  for (const Tensor* t : {&query, &key, &value}) recorded |= grad_enabled() && t->requires_grad();
  if (recorded)  // a gradient of this gradient may be asked for
    return sconce::attention_gradients(grad_out, query, key, value, kept, dropout_p, is_causal, attn_mask, scale);
  const DType compute = compute_dtype(query);
  const double factor = scale_of(query, scale);
  const Tensor q = sconce::to(query, compute), k = sconce::to(key, compute), v = sconce::to(value, compute),
               g = sconce::to(grad_out, compute);
  const Tensor level = sconce::unsqueeze(sconce::to(logsumexp, compute), -1);
  const Tensor weights = sconce::exp(sconce::sub(scores_of(q, k, is_causal, attn_mask, factor), level));
  const Tensor taken = sconce::keep_scaled(weights, kept, 1 - dropout_p);
  const Tensor products = sconce::keep_scaled(sconce::matmul(g, sconce::transpose(v, -2, -1)), kept, 1 - dropout_p);
  const Tensor shares = sconce::sum(sconce::mul(g, sconce::to(out, compute)), IntList({-1}), true);
  const Tensor d = sconce::mul(sconce::mul(weights, sconce::sub(products, shares)), Scalar(factor));
  return {sconce::to(sconce::matmul(d, k), query.dtype()),
          sconce::to(sconce::matmul(sconce::transpose(d, -2, -1), q), key.dtype()),
          sconce::to(sconce::matmul(sconce::transpose(taken, -2, -1), g), value.dtype())};
}

}  // namespace sconce::cuda
