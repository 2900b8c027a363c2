// How often each non-negative integer occurs, or the sum of its weights.
#include <algorithm>
#include <vector>

#include "sconce/base/error.h"
#include "sconce/base/parallel.h"
#include "sconce/dispatch/glue.h"
#include "sconce/kernels/any/fill.h"

namespace sconce {
namespace {

constexpr int64_t kPart = 32768;  // elements worth a thread, if the table of counts is smaller

// sums[x[i]] += weights[i]
template <class Sum, class Weight>
void add_up(const int64_t* x, const Weight* weights, int64_t n, Sum* sums, int64_t bins) {
  const int64_t parts = bins > kPart ? 1 : std::clamp<int64_t>(n / kPart, 1, num_threads()),
                part = (n + parts - 1) / parts;
  std::vector<std::vector<Sum>> partial(static_cast<size_t>(parts));
  parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      Sum* to = sums;
      if (p > 0) {
        partial[static_cast<size_t>(p)].assign(static_cast<size_t>(bins), Sum(0));
        to = partial[static_cast<size_t>(p)].data();
      }
      const int64_t last = std::min(n, (p + 1) * part);
      if (weights) {
        for (int64_t i = p * part; i < last; ++i) to[x[i]] += static_cast<Sum>(weights[i]);
        continue;
      }
      for (int64_t i = p * part; i < last; ++i) to[x[i]] += 1;
    }
  });
  for (int64_t p = 1; p < parts; ++p) {
    for (int64_t i = 0; i < bins; ++i) sums[i] += partial[static_cast<size_t>(p)][static_cast<size_t>(i)];
  }
}

}  // namespace

namespace any_device {

Tensor bincount(const Tensor& self, const Tensor& weights, int64_t minlength) {
  SCONCE_CHECK_AS(not_implemented, is_integral(self.dtype()), "\"bincount_cpu\" not implemented for '{}'",
                  dtype_legacy_name(self.dtype()));
  SCONCE_CHECK(minlength >= 0, "minlength should be >= 0, got {}", minlength);
  SCONCE_CHECK(self.dim() == 1, "bincount only supports 1-d non-negative integral inputs, got {}", self.sizes());
  SCONCE_CHECK(!weights.defined() || (weights.dim() == 1 && weights.sizes() == self.sizes()),
               "weights should be 1-d and have the same length as input, got {} and {}",
               weights.defined() ? weights.sizes() : IntList(), self.sizes());
  SCONCE_CHECK_AS(not_implemented, !self.is_meta(),
                  "bincount: the result's size depends on values, which a meta tensor does not have");
  const int64_t n = self.numel();
  const Tensor x = contiguous_tensor(to_dtype(self, DType::int64));
  int64_t low = 0, high = -1;
  for (int64_t i = 0; i < n; ++i) {
    low = std::min(low, x.data<int64_t>()[i]);
    high = std::max(high, x.data<int64_t>()[i]);
  }
  SCONCE_CHECK(low >= 0, "bincount only supports 1-d non-negative integral inputs, got {}", low);
  SCONCE_CHECK(high < INT64_MAX, "bincount: maximum value of input overflowed, it should be < {} but got {}", INT64_MAX,
               high);
  const int64_t bins = std::max(high + 1, minlength);
  const bool weighted = weights.defined() && n > 0;
  const bool single = weighted && weights.dtype() == DType::float32;
  // Weights of a float add up in double.
  Tensor out = empty_tensor({bins}, weighted ? DType::float64 : DType::int64);
  fill_tensor(out, 0);
  if (!weighted) {
    add_up<int64_t, int64_t>(x.data<int64_t>(), nullptr, n, out.data<int64_t>(), bins);
  } else if (single) {
    add_up(x.data<int64_t>(), contiguous_tensor(weights).data<float>(), n, out.data<double>(), bins);
  } else {
    add_up(x.data<int64_t>(), contiguous_tensor(to_dtype(weights, DType::float64)).data<double>(), n,
           out.data<double>(), bins);
  }
  return single ? to_dtype(out, DType::float32) : out;
}

}  // namespace any_device
}  // namespace sconce
