#include "sconce/testing/gradients/sample_tensor.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "sconce/base/error.h"
#include "sconce/ops.h"
#include "sconce/tensor/grad_mode.h"
#include "sconce/testing/gradients/jacobian.h"

namespace sconce::testing {
namespace {

// Standard distributions differ between libraries; this does not.
class Numbers {
 public:
  explicit Numbers(uint64_t seed) : engine_(seed * 7919 + 17) {}
  size_t below(size_t n) { return static_cast<size_t>(engine_() % n); }
  std::vector<size_t> shuffled(size_t n) {
    std::vector<size_t> out(n);
    std::iota(out.begin(), out.end(), size_t{0});
    for (size_t i = n; i > 1; --i) std::swap(out[i - 1], out[below(i)]);
    return out;
  }

 private:
  std::mt19937_64 engine_;
};

// No round number: 0.375 would be a place where 1.5 / x has one.
constexpr double kOffset = 0.4142;

std::vector<double> default_numbers(size_t n, Numbers& numbers) {
  std::vector<double> out;
  // A place of its own in (0.1, 0.4) behind one of the eight halves from -2 to 1.5.
  for (size_t place : numbers.shuffled(n)) {
    const double half = static_cast<double>(numbers.below(8)) * 0.5 - 2;
    out.push_back(half + 0.1 + 0.3 * (static_cast<double>(place) + kOffset) / static_cast<double>(n));
  }
  return out;
}

std::vector<double> numbers_between(double from, double to, size_t n, Numbers& numbers) {
  std::vector<double> out;
  for (size_t place : numbers.shuffled(n)) {
    // A tenth of the range at both ends stays free.
    out.push_back(from + (to - from) * (0.1 + 0.8 * (static_cast<double>(place) + kOffset) / static_cast<double>(n)));
  }
  return out;
}

Tensor integers(const SampleTensor& sample, Numbers& numbers) {
  Tensor t = empty_tensor(sample.sizes, DType::int64);
  const bool bools = sample.dtype == DType::bool_;
  const auto from = static_cast<int64_t>(sample.from.value_or(0)),
             to = static_cast<int64_t>(sample.to.value_or(bools ? 2 : 5));
  SCONCE_CHECK(to > from, "sample: no integer from {} to {}", from, to);
  int64_t* data = t.numel() ? t.data<int64_t>() : nullptr;
  for (int64_t i = 0; i < t.numel(); ++i)
    data[i] = from + static_cast<int64_t>(numbers.below(static_cast<size_t>(to - from)));
  if (sample.kind == "permutation") {
    const auto length = static_cast<size_t>(sample.sizes.back());
    for (int64_t i = 0; i < t.numel(); i += sample.sizes.back()) {
      const std::vector<size_t> order = numbers.shuffled(length);
      std::copy(order.begin(), order.end(), data + i);
    }
  } else if (!sample.kind.empty()) {
    SCONCE_CHECK(sample.kind == "sorted", "sample: '{}' is no kind of integers", sample.kind);
    t = std::get<0>(sort(t));
  }
  return sconce::to(t, sample.dtype);
}

Tensor of_kind(const Tensor& t, const std::string& kind) {
  if (kind.empty()) return t;
  if (kind == "sorted") return std::get<0>(sort(t));
  if (kind == "logprobs") return log_softmax(t, -1);
  if (kind == "unit") return div(t, linalg_norm(t, std::nullopt, IntList{-2}, true));
  const int64_t n = t.size(-1);
  SCONCE_CHECK(t.dim() >= 2 && t.size(-2) == n, "sample: '{}' is for square matrices, got {}", kind, t.sizes());
  const Tensor diagonal = eye(n, t.dtype());
  if (kind == "symmetric") return add(t, conj(transpose(t, -2, -1)));
  if (kind == "spd") return add(matmul(t, conj(transpose(t, -2, -1))), diagonal);
  if (kind == "regular") return add(t, mul(diagonal, Scalar(4.0)));
  // Far from singular as well.
  if (kind == "lower") return add(tril(t), mul(diagonal, Scalar(3.0)));
  if (kind == "upper") return add(triu(t), mul(diagonal, Scalar(3.0)));
  fail("sample: unknown kind '{}'", kind);
}

}  // namespace

Tensor make_sample_tensor(const SampleTensor& sample) {
  const NoGrad no_grad;
  Numbers numbers(sample.seed);
  Tensor t;
  if (!is_floating(sample.dtype) && !is_complex(sample.dtype)) {
    t = integers(sample, numbers);
  } else {
    const DType wide = is_complex(sample.dtype) ? DType::complex128 : DType::float64;
    t = empty_tensor(sample.sizes, wide);
    const size_t n = real_count(t);
    SCONCE_CHECK(sample.from.has_value() == sample.to.has_value(), "sample: a range has two ends");
    t = from_real_elements(
        sample.from ? numbers_between(*sample.from, *sample.to, n, numbers) : default_numbers(n, numbers), t);
    t = of_kind(t, sample.kind);
    t = sconce::to(t, sample.dtype);
  }
  if (sample.transposed) t = transpose(contiguous(transpose(t, -2, -1)), -2, -1);
  return t;
}

}  // namespace sconce::testing
