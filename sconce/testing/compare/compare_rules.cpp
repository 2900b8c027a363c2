#include "sconce/testing/compare/compare_rules.h"

#include <fmt/format.h>

#include "sconce/testing/compare/decomposition.h"
#include "sconce/testing/conformance/case_value.h"

namespace sconce::testing {
namespace {

using Args = std::vector<Value>;

struct RuleLine {
  Rule rule;
  std::string_view why;
  std::string_view
      names;  // without overload, and without namespace where it may be any, separated by blanks; "x*" is every name that begins with x
  bool (*when)(const Args&) = nullptr;  // only for calls like this
};

// multinomial(self, num_samples, replacement): exponential draws choose, unless several samples go back into the pot.
bool draws_exponentials(const Args& a) {
  return a.size() > 2 && !(a[2].is_bool() && a[2].to_bool() && a[1].to_int() > 1);
}
// scaled_dot_product_attention(query, key, value, attn_mask, dropout_p, ...) and its CPU form, where dropout_p
// is the fourth.
bool drops_out(const Args& a) {
  const auto positive = [&](size_t i) { return a.size() > i && a[i].is_double() && a[i].to_double() > 0; };
  return positive(3) || positive(4);
}

// svd(self, some, compute_uv): U and V are zeros where they are not asked for.
bool without_vectors(const Args& a) { return a.size() > 2 && a[2].is_bool() && !a[2].to_bool(); }

// The first line that fits decides.
constexpr RuleLine kRules[] = {
    {Rule::geometry, "the memory is uninitialised",
     "empty empty_like empty_strided empty_permuted new_empty new_empty_strided"},
    {Rule::geometry, "what a tensor grows by is uninitialised", "resize resize_ resize_as resize_as_"},

    {Rule::exact, "uniform draws repeat PyTorch's bit by bit",
     "rand rand_like uniform uniform_ bernoulli randint randint_like randperm random random_"},
    {Rule::distribution, "chooses by exponential draws, which the recording took from a third-party generator",
     "multinomial", draws_exponentials},
    {Rule::exact, "with replacement, one uniform draw a sample", "multinomial"},
    {Rule::distribution, "drawn by a third-party generator in the recording",
     "bernoulli_ exponential exponential_ dropout dropout_ native_dropout alpha_dropout alpha_dropout_ "
     "feature_dropout feature_dropout_ feature_alpha_dropout feature_alpha_dropout_"},
    {Rule::distribution, "dropout was drawn by a third-party generator in the recording",
     "scaled_dot_product_attention _scaled_dot_product_flash_attention_for_cpu", drops_out},

    {Rule::svd, "unique up to the phase of each pair of singular vectors", "linalg_svd _linalg_svd prims::svd"},
    {Rule::accumulated, "no singular vectors", "svd", without_vectors},
    {Rule::svd_v, "unique up to the phase of each pair of singular vectors", "svd svd_lowrank pca_lowrank"},
    {Rule::eigh, "unique up to the phase of each eigenvector", "linalg_eigh _linalg_eigh"},
    {Rule::eig, "unique up to order, and the phase of each eigenvector", "linalg_eig"},
    {Rule::any_order, "the order of eigenvalues is not defined", "linalg_eigvals"},
    {Rule::qr, "unique up to the phase of each column of Q", "linalg_qr qr"},
    {Rule::determinant, "the LU of A or of its transpose, whichever is stored by columns",
     "_linalg_det _linalg_slogdet"},

    {Rule::accumulated, "long sums",
     "sum nansum mean nanmean prod std std_mean var var_mean norm linalg_vector_norm dist cumsum cumprod logcumsumexp "
     "logsumexp trapezoid trapz cumulative_trapezoid cov corrcoef index_add index_add_ scatter_add scatter_add_ "
     "scatter_reduce index_reduce segment_reduce _segment_reduce_backward index_put "
     "_unsafe_masked_index_put_accumulate "
     "histogram* _histogram* bincount"},
    {Rule::accumulated, "products of matrices",
     "mm bmm mv dot vdot inner matmul addmm addmv addbmm baddbmm addr linear bilinear _trilinear tensordot einsum kron "
     "chain_matmul conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d convolution "
     "convolution_backward scaled_dot_product_attention _scaled_dot_product* cdist _cdist* pdist _pdist* "
     "cosine_similarity "
     "pairwise_distance"},
    {Rule::accumulated, "normalisation over many elements",
     "batch_norm native_batch_norm* _native_batch_norm* _batch_norm* batch_norm_backward layer_norm native_layer_norm* "
     "group_norm native_group_norm* rms_norm instance_norm"},
    {Rule::accumulated, "sums over overlapping windows",
     "embedding_dense_backward _embedding_bag* grid_sampler* upsample* _upsample* avg_pool* adaptive_avg_pool* "
     "_adaptive_avg_pool* im2col col2im"},
    {Rule::accumulated, "linear algebra and transforms",
     "linalg_* _linalg_* cholesky* _cholesky* lu_* _lu_* det slogdet logdet inverse matrix_exp* matrix_power ormqr "
     "orgqr geqrf pinverse nuclear_norm triangular_solve fft_* _fft_* stft istft"},
};

constexpr std::string_view kAnyOfEquals = "topk kthvalue mode";

bool fits(std::string_view names, std::string_view name) {
  while (!names.empty()) {
    const size_t end = std::min(names.find(' '), names.size());
    const std::string_view word = names.substr(0, end);
    if (word.ends_with('*') ? name.starts_with(word.substr(0, word.size() - 1)) : word == name) return true;
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  return false;
}

std::string_view without_namespace(std::string_view name) {
  const size_t colons = name.find("::");
  return colons == name.npos ? name : name.substr(colons + 2);
}

Difference compare_one(Rule rule, const Value& got, const Value& expected, bool strides) {
  if (!got.is_tensor() || !expected.is_tensor()) {
    if (rule == Rule::geometry && got.tag() == expected.tag()) return {};
    return compare_plain(got, expected);
  }
  const Tensor &g = got.to_tensor(), &e = expected.to_tensor();
  if (Difference d = compare_geometry(g, e, strides)) return d;
  switch (rule) {
    case Rule::geometry:
      return {};
    case Rule::distribution:
      return compare_distribution(g, e);
    case Rule::exact:
      return compare_elements(g, e, Closeness::exact);
    case Rule::accumulated:
      return compare_elements(g, e, Closeness::accumulated);
    default:
      return compare_elements(g, e, Closeness::close);
  }
}

}  // namespace

bool names_any_of_equals(std::string_view name) { return fits(kAnyOfEquals, without_namespace(name)); }

Rule rule_for(std::string_view name, const std::vector<Value>& args) {
  const std::string_view full = name;
  name = without_namespace(name);
  for (const RuleLine& line : kRules) {
    if ((fits(line.names, name) || fits(line.names, full)) && (line.when == nullptr || line.when(args)))
      return line.rule;
  }
  return Rule::close;
}

Difference compare_outputs(Rule rule, const std::vector<Value>& args, const std::vector<Value>& got,
                           const std::vector<Value>& expected, bool strides) {
  if (got.size() != expected.size()) return fmt::format("{} outputs, expected {}", got.size(), expected.size());
  const bool decomposition = rule >= Rule::svd;
  for (size_t i = 0; i < got.size(); ++i) {
    if (Difference d = compare_one(decomposition ? Rule::geometry : rule, got[i], expected[i], strides)) {
      return fmt::format("output {}: {}", i, *d);
    }
  }
  return decomposition ? compare_decomposition(rule, args, got, expected) : Difference();
}

}  // namespace sconce::testing
