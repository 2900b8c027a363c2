// How often each non-negative integer occurs, or the sum of its weights.
#include <algorithm>
#include <optional>
#include <vector>

#include "sconce/base/error.h"
#include "sconce/base/parallel.h"
#include "sconce/base/variants/variants.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/histogram_kernels.h"
#include "sconce/kernels/any/argument_checks.h"
#include "sconce/kernels/any/fill.h"
#include "sconce/kernels/cpu/order/weight_parts.h"

namespace sconce {
namespace {

SCONCE_VARIANT(by_blocks, "bincount.blocks", "counts without weights, by one thread or of fewer than 65,536 values");
SCONCE_VARIANT(many_bins, "bincount.blocks.many_bins", "a value of 32,768 or more");
SCONCE_VARIANT(several_parts, "bincount.parts",
               "65,536 values or more, with weights or threads, fewer than 32,769 bins");

// One more than the largest of the values, which must not be negative.
int64_t check_values(const int64_t* x, int64_t n) {
  if (n == 0) return 0;
  uint64_t high[4] = {};  // a negative number is a large one here
  int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    for (int k = 0; k < 4; ++k) high[k] = std::max(high[k], static_cast<uint64_t>(x[i + k]));
  }
  for (; i < n; ++i) high[0] = std::max(high[0], static_cast<uint64_t>(x[i]));
  const uint64_t top = std::max(std::max(high[0], high[1]), std::max(high[2], high[3]));
  SCONCE_CHECK(top <= INT64_MAX, "bincount only supports 1-d non-negative integral inputs, got {}",
               static_cast<int64_t>(top));
  SCONCE_CHECK(top < INT64_MAX / 32, "bincount: the largest value is {}: there is no memory for that many counts", top);
  return static_cast<int64_t>(top) + 1;
}

constexpr int64_t kPart = 32768;  // elements worth a thread, if the table of counts is smaller

// How often each value occurs, by one thread: a block is checked, then counted while it is in the cache. Two tables
// take turns, so that a count need not wait for the one before to be stored. Nothing when there are many values.
std::optional<std::vector<int64_t>> count_blocks(const int64_t* x, int64_t n) {
  constexpr int64_t kBlock = 2048;  // 16 KB: counted from the first-level cache
  std::vector<int64_t> table;
  for (int64_t from = 0; from < n; from += kBlock) {
    const int64_t to = std::min(n, from + kBlock);
    const int64_t bins = check_values(x + from, to - from);
    if (many_bins(bins > kPart)) return std::nullopt;
    if (2 * bins > static_cast<int64_t>(table.size())) table.resize(static_cast<size_t>(2 * bins));
    int64_t* pairs = table.data();
    int64_t i = from;
    for (; i + 2 <= to; i += 2) {
      ++pairs[2 * x[i]];
      ++pairs[2 * x[i + 1] + 1];
    }
    if (i < to) ++pairs[2 * x[i]];
  }
  for (size_t i = 0; i < table.size() / 2; ++i) table[i] = table[2 * i] + table[2 * i + 1];
  table.resize(table.size() / 2);
  return table;
}

// sums[x[i]] += weights[i]
template <class Sum, class Weight>
void add_up(const int64_t* x, const Weight* weights, int64_t n, Sum* sums, int64_t bins) {
  // Where weights are cut decides the order of their sums, so the number of threads has no say in it.
  const int64_t shares = weights ? kWeightParts : num_threads();
  const int64_t parts = bins > kPart ? 1 : std::clamp<int64_t>(n / kPart, 1, shares), part = (n + parts - 1) / parts;
  several_parts(parts > 1);
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

namespace cpu {

Tensor bincount(const Tensor& self, const Tensor& weights, int64_t minlength) {
  check_bincount(self, weights, minlength, "cpu");
  SCONCE_CHECK_AS(not_implemented, !self.is_meta(),
                  "bincount: the result's size depends on values, which a meta tensor does not have");
  const int64_t n = self.numel();
  const Tensor x = contiguous_tensor(to_dtype(self, DType::int64));
  std::optional<std::vector<int64_t>> counts;
  if (by_blocks(!weights.defined() && (num_threads() == 1 || n < 2 * kPart)))
    counts = count_blocks(x.data<int64_t>(), n);
  if (counts) {
    const auto found = static_cast<int64_t>(counts->size());
    Tensor out = empty_tensor({std::max(found, minlength)}, DType::int64);
    fill_tensor(out, 0);
    std::copy(counts->begin(), counts->end(), out.data<int64_t>());
    return out;
  }
  const int64_t bins = std::max(check_values(x.data<int64_t>(), n), minlength);
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

}  // namespace cpu
}  // namespace sconce
