// Medians, the k-th smallest element, the most frequent one: each line along a dim is gathered, and an order made among
// its indices, where NaN counts as the largest.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "sconce/base/error.h"
#include "sconce/base/parallel.h"
#include "sconce/dispatch/glue.h"
#include "sconce/tensor/strides.h"

namespace sconce {
namespace {

template <class T>
bool is_nan(T x) {
  if constexpr (std::is_floating_point_v<T>) return std::isnan(x);
  return false;
}
template <class T>
bool before(T a, T b) {
  return is_nan(b) ? !is_nan(a) : a < b;
}

// A line and the working memory to order it.
template <class T>
struct Line {
  std::vector<T> values;
  std::vector<int64_t> order;

  void reset() {
    order.resize(values.size());
    std::iota(order.begin(), order.end(), 0);
  }
  // Index of the k-th smallest, from 0.
  int64_t smallest(int64_t k) {
    reset();
    std::nth_element(order.begin(), order.begin() + k, order.end(),
                     [&](int64_t a, int64_t b) { return before(values[a], values[b]); });
    return order[static_cast<size_t>(k)];
  }
  // The same by quickselect with the median of three as pivot: of equal elements the one that PyTorch's kthvalue finds.
  int64_t smallest_by_partition(int64_t k) {
    reset();
    const auto greater = [&](int64_t a, int64_t b) { return before(values[order[b]], values[order[a]]); };
    const auto exchange = [&](int64_t a, int64_t b) { std::swap(order[a], order[b]); };
    int64_t low = 0, high = static_cast<int64_t>(values.size()) - 1;
    while (high > low) {
      if (high == low + 1) {
        if (greater(low, high)) exchange(low, high);
        break;
      }
      exchange((low + high) / 2, low + 1);
      if (greater(low + 1, high)) exchange(low + 1, high);
      if (greater(low, high)) exchange(low, high);
      if (greater(low + 1, low)) exchange(low + 1, low);
      int64_t i = low + 1, j = high;
      while (true) {
        while (greater(low, ++i)) {
        }
        while (greater(--j, low)) {
        }
        if (j < i) break;
        exchange(i, j);
      }
      exchange(low, j);
      if (j <= k) low = i;
      if (j >= k) high = j - 1;
    }
    return order[static_cast<size_t>(k)];
  }
  int64_t median(bool skip_nan) {
    const auto n = static_cast<int64_t>(values.size());
    int64_t nans = 0, first = 0;
    for (int64_t i = n - 1; i >= 0; --i) {
      if (is_nan(values[i])) ++nans, first = i;
    }
    if (nans > 0 && (!skip_nan || nans == n)) return first;
    return smallest((n - nans - 1) / 2);
  }
  int64_t mode() {
    reset();
    std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return before(values[a], values[b]); });
    int64_t best = order[0], most = 0, run = 0;
    for (size_t i = 0; i < order.size(); ++i) {
      run = i > 0 && values[order[i]] == values[order[i - 1]] ? run + 1 : 1;
      if (run > most) most = run, best = order[i];
    }
    return best;
  }
};

template <class Choose>
void choose(const Tensor& self, int64_t dim, const Tensor& values, const Tensor& indices, Choose pick) {
  if (values.numel() == 0) return;
  SCONCE_CHECK_AS(not_implemented, !is_complex(self.dtype()), "order statistics are not implemented for '{}'",
                  dtype_legacy_name(self.dtype()));
  const DType compute = category(self.dtype()) < Category::floating ? DType::int64 : DType::float64;
  const Tensor x = contiguous_tensor(to_dtype(self, compute));
  const Tensor y = empty_tensor(values.sizes(), compute);
  dim = wrap_dim(dim, self.dim());
  int64_t outer = 1, n = 1, inner = 1;
  for (int64_t d = 0; d < self.dim(); ++d) (d < dim ? outer : d == dim ? n : inner) *= self.sizes()[d];
  const auto run = [&]<class T>() {
    parallel_for(outer * inner, std::max<int64_t>(1, 4096 / n), [&](int64_t begin, int64_t end) {
      Line<T> line;
      line.values.resize(static_cast<size_t>(n));
      for (int64_t t = begin; t < end; ++t) {
        const T* from = x.data<T>() + t / inner * n * inner + t % inner;
        for (int64_t k = 0; k < n; ++k) line.values[static_cast<size_t>(k)] = from[k * inner];
        const int64_t at = pick(line);
        y.data<T>()[t] = line.values[static_cast<size_t>(at)];
        if (indices.defined()) indices.data<int64_t>()[t] = at;
      }
    });
  };
  if (compute == DType::int64) {
    run.template operator()<int64_t>();
  } else {
    run.template operator()<double>();
  }
  copy_tensor(values, y);
}

std::array<OutSpec, 2> chosen_spec(const char* name, const Tensor& self, int64_t dim, bool keepdim) {
  dim = wrap_dim(dim, self.dim());
  Dims sizes(self.sizes());
  if (self.dim() > 0) {
    SCONCE_CHECK_AS(index, sizes[static_cast<size_t>(dim)] != 0,
                    "{}(): Expected reduction dim {} to have non-zero size.", name, dim);
    sizes[static_cast<size_t>(dim)] = 1;
    if (!keepdim) sizes.erase(static_cast<size_t>(dim));
  }
  return {OutSpec{sizes, self.dtype()}, OutSpec{sizes, DType::int64}};
}

void whole_median(const Tensor& self, const Tensor& out, bool skip_nan) {
  if (self.numel() == 0) {
    SCONCE_CHECK(is_floating(self.dtype()), "median() operation does not have an identity for empty input tensor");
    return copy_tensor(out, scalar_tensor_of(std::numeric_limits<double>::quiet_NaN(), out.dtype()));
  }
  const Tensor dense = contiguous_tensor(self);
  const int64_t numel = self.numel(), one = 1;
  const Tensor flat = make_view(dense, IntList(&numel, 1), IntList(&one, 1), dense.storage_offset());
  choose(flat, 0, out, {}, [&](auto& line) { return line.median(skip_nan); });
}

}  // namespace

namespace cpu {

void median(const Tensor& self, const Tensor& out) { whole_median(self, out, false); }
void nanmedian(const Tensor& self, const Tensor& out) { whole_median(self, out, true); }
void median_dim(const Tensor& self, int64_t dim, bool, const Tensor& values, const Tensor& indices) {
  choose(self, dim, values, indices, [](auto& line) { return line.median(false); });
}
void nanmedian_dim(const Tensor& self, int64_t dim, bool, const Tensor& values, const Tensor& indices) {
  choose(self, dim, values, indices, [](auto& line) { return line.median(true); });
}
void kthvalue(const Tensor& self, int64_t k, int64_t dim, bool, const Tensor& values, const Tensor& indices) {
  choose(self, dim, values, indices, [k](auto& line) { return line.smallest_by_partition(k - 1); });
}
void mode(const Tensor& self, int64_t dim, bool, const Tensor& values, const Tensor& indices) {
  choose(self, dim, values, indices, [](auto& line) { return line.mode(); });
}

}  // namespace cpu

namespace any_device {

std::array<OutSpec, 2> median_dim_spec(const Tensor& self, int64_t dim, bool keepdim) {
  return chosen_spec("median", self, dim, keepdim);
}
std::array<OutSpec, 2> nanmedian_dim_spec(const Tensor& self, int64_t dim, bool keepdim) {
  return chosen_spec("median", self, dim, keepdim);
}
std::array<OutSpec, 2> kthvalue_spec(const Tensor& self, int64_t k, int64_t dim, bool keepdim) {
  const int64_t n = self.dim() == 0 ? 1 : self.sizes()[wrap_dim(dim, self.dim())];
  SCONCE_CHECK(k >= 1 && k <= n, "kthvalue(): selected number k out of range for dimension {}: {} of {}", dim, k, n);
  return chosen_spec("kthvalue", self, dim, keepdim);
}
std::array<OutSpec, 2> mode_spec(const Tensor& self, int64_t dim, bool keepdim) {
  return chosen_spec("mode", self, dim, keepdim);
}

}  // namespace any_device
}  // namespace sconce
