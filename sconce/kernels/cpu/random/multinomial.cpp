// Multinomial sampling, draw for draw as PyTorch does it.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "sconce/base/budget.h"
#include "sconce/base/error.h"
#include "sconce/generated/random_kernels.h"
#include "sconce/kernels/cpu/random/random.h"
#include "sconce/kernels/cpu/random/random_fill.h"
#include "sconce/tensor/element.h"
#include "sconce/tensor/strides.h"

namespace sconce::rng {
namespace {

constexpr int64_t kMaxCategories = int64_t{1} << 24;  // PyTorch's limit: beyond it float32 misses integers

void read_row(const Tensor& weights, int64_t row, std::vector<double>& out) {
  const bool matrix = weights.dim() == 2;
  const auto item = static_cast<int64_t>(weights.item_size());
  const int64_t step = weights.stride(-1) * item;
  const char* at = weights.data<char>() + (matrix ? row * weights.stride(0) * item : 0);
  for (size_t i = 0; i < out.size(); ++i) {
    out[i] = load_scalar(at + static_cast<int64_t>(i) * step, weights.dtype()).to_double();
  }
}

void check_row(const std::vector<double>& row) {
  double sum = 0;
  for (const double w : row) {
    SCONCE_CHECK(w >= 0 && std::isfinite(w), "multinomial: weights must be finite and not negative, got {}", w);
    sum += w;
  }
  SCONCE_CHECK(sum > 0, "multinomial: invalid distribution (sum of probabilities <= 0)");
}

// Running sums in T, scaled to end at 1; a draw takes the first index whose sum is not below it.
template <class T>
void sample_with_replacement(const std::vector<double>& row, std::vector<T>& sums, int64_t* out, int64_t samples,
                             Draws& draws) {
  T sum = 0;
  for (size_t i = 0; i < row.size(); ++i) sums[i] = sum += static_cast<T>(row[i]);
  for (T& s : sums) s /= sum;
  sums.back() = 1;
  for (int64_t i = 0; i < samples; ++i) {
    if (i % 65536 == 0) Budget::poll_active();
    const double u = draws.uniform53();
    out[i] = std::lower_bound(sums.begin(), sums.end(), u, [](T s, double v) { return s < v; }) - sums.begin();
  }
}

// The largest of weight / exponential draw are a sample without replacement (the exponential race).
void sample_without_replacement(const std::vector<double>& row, std::vector<double>& race, int64_t* out,
                                int64_t samples) {
  for (size_t i = 0; i < row.size(); ++i) race[i] = row[i] == 0 ? 0 : row[i] / race[i];
  std::vector<int64_t> order(row.size());
  std::iota(order.begin(), order.end(), 0);
  uint32_t compared = 0;
  const auto before = [&](int64_t a, int64_t b) {
    if (++compared % 65536 == 0) Budget::poll_active();
    return race[a] != race[b] ? race[a] > race[b] : a < b;
  };
  // A heap of many samples (std::partial_sort) costs several times as much.
  std::nth_element(order.begin(), order.begin() + samples - 1, order.end(), before);
  std::sort(order.begin(), order.begin() + samples, before);
  std::copy(order.begin(), order.begin() + samples, out);
}

}  // namespace

Tensor multinomial(const Tensor& weights, int64_t samples, bool replacement, const Generator& generator) {
  SCONCE_CHECK(weights.dim() == 1 || weights.dim() == 2,
               "multinomial: weights must have 1 or 2 dimensions, got sizes {}", weights.sizes());
  SCONCE_CHECK(is_floating(weights.dtype()), "multinomial: only supports floating-point dtypes, got {}",
               dtype_name(weights.dtype()));
  SCONCE_CHECK(samples > 0, "multinomial: cannot draw {} samples", samples);
  const int64_t categories = weights.size(-1);
  SCONCE_CHECK(replacement || samples <= categories,
               "multinomial: cannot draw {} samples of {} categories without replacement", samples, categories);
  SCONCE_CHECK(categories > 0, "multinomial: there are no categories: weights have sizes {}", weights.sizes());
  SCONCE_CHECK(categories <= kMaxCategories, "multinomial: the number of categories cannot exceed 2^24, got {}",
               categories);

  const bool matrix = weights.dim() == 2;
  const int64_t rows = matrix ? weights.size(0) : 1;
  const Tensor result = matrix ? empty_tensor({rows, samples}, DType::int64, weights.device())
                               : empty_tensor({samples}, DType::int64, weights.device());
  if (weights.is_meta()) return result;

  Budget::charge_memory(static_cast<uint64_t>(categories), 3 * sizeof(double));  // row, values, sums or order
  std::vector<double> row(static_cast<size_t>(categories)), values(row.size());
  if (!replacement || samples == 1) {  // one sample comes from the race too, as in PyTorch
    for (int64_t r = 0; r < rows; ++r) {
      read_row(weights, r, row);
      check_row(row);
    }
    const Tensor race =
        empty_strided_tensor(weights.sizes(), preserved_strides(weights.sizes(), weights.strides()), weights.dtype());
    exponential_(race, 1, generator);
    for (int64_t r = 0; r < rows; ++r) {
      read_row(weights, r, row);
      read_row(race, r, values);
      sample_without_replacement(row, values, result.data<int64_t>() + r * samples, samples);
    }
    return result;
  }
  const bool in_double = weights.dtype() == DType::float64;
  std::vector<float> sums(in_double ? 0 : row.size());
  Draws draws(generator);
  for (int64_t r = 0; r < rows; ++r) {
    read_row(weights, r, row);
    check_row(row);
    int64_t* out = result.data<int64_t>() + r * samples;
    if (in_double) {
      sample_with_replacement(row, values, out, samples, draws);
    } else {
      sample_with_replacement(row, sums, out, samples, draws);
    }
  }
  return result;
}

}  // namespace sconce::rng

namespace sconce::cpu {

Tensor multinomial(const Tensor& self, int64_t num_samples, bool replacement, const Generator& generator) {
  return rng::multinomial(self, num_samples, replacement, generator);
}

}  // namespace sconce::cpu
