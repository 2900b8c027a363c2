// Medians, the k-th smallest element, the most frequent one, of each line along a dim. NaN counts as the largest.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "sconce/base/error.h"
#include "sconce/dispatch/glue.h"
#include "sconce/kernels/any/views.h"
#include "sconce/kernels/cpu/lines.h"
#include "sconce/kernels/cpu/ordering.h"
#include "sconce/kernels/cpu/selection.h"
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

constexpr int64_t kShort = 4096;  // lines up to here are partitioned as indices

template <class T>
constexpr DType kDType = std::is_same_v<T, float>    ? DType::float32
                         : std::is_same_v<T, double> ? DType::float64
                                                     : DType::int64;

// A line and the working memory to order it. Of equal elements, a short line gives the one that PyTorch finds, a long
// one the first.
template <class T>
struct Line {
  const T* values;
  int64_t n;
  std::vector<int64_t> order;

  void reset() {
    order.resize(static_cast<size_t>(n));
    std::iota(order.begin(), order.end(), 0);
  }
  int64_t smallest_of_many(int64_t k) const {
    const auto key = cpu::select_key(values, n, k, false);
    int64_t at = 0;
    while (cpu::Key<T>::of(values[at]) != key) ++at;
    return at;
  }
  // Index of the k-th smallest, from 0.
  int64_t smallest(int64_t k) {
    if (n > kShort) return smallest_of_many(k);
    reset();
    std::nth_element(order.begin(), order.begin() + k, order.end(),
                     [&](int64_t a, int64_t b) { return before(values[a], values[b]); });
    return order[static_cast<size_t>(k)];
  }
  // The same by quickselect with the median of three as pivot: of equal elements the one that PyTorch's kthvalue finds.
  int64_t smallest_by_partition(int64_t k) {
    if (n > kShort) return smallest_of_many(k);
    reset();
    const auto greater = [&](int64_t a, int64_t b) { return before(values[order[b]], values[order[a]]); };
    const auto exchange = [&](int64_t a, int64_t b) { std::swap(order[a], order[b]); };
    int64_t low = 0, high = n - 1;
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
    int64_t nans = 0;
    for (int64_t i = 0; i < n; ++i) nans += is_nan(values[i]);
    if (nans > 0 && (!skip_nan || nans == n)) {
      int64_t first = 0;
      while (!is_nan(values[first])) ++first;
      return first;
    }
    return smallest((n - nans - 1) / 2);
  }
  // The last of its run in sorted order.
  template <class Order>
  int64_t longest_run(const Order& at) const {
    int64_t best = at(0), most = 0, run = 0;
    for (int64_t i = 0; i < n; ++i) {
      run = i > 0 && values[at(i)] == values[at(i - 1)] ? run + 1 : 1;
      if (run > most) most = run, best = at(i);
    }
    return best;
  }
  int64_t mode() {
    if (n > kShort) {
      Scratch scratch;
      const uint64_t* words = cpu::order_line(values, kDType<T>, n, false, scratch);
      return longest_run([&](int64_t i) { return static_cast<int64_t>(words[i] & 0xffffffff); });
    }
    reset();
    std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return before(values[a], values[b]); });
    return longest_run([&](int64_t i) { return order[static_cast<size_t>(i)]; });
  }
};

// `values` and, where defined, `indices` get what pick(line) says of each line along dim.
template <class Choose>
void choose(const Tensor& self, int64_t dim, Tensor values, Tensor indices, Choose pick) {
  if (values.numel() == 0) return;
  SCONCE_CHECK_AS(not_implemented, !is_complex(self.dtype()), "order statistics are not implemented for '{}'",
                  dtype_legacy_name(self.dtype()));
  dim = wrap_dim(dim, self.dim());
  if (values.dim() < self.dim()) {
    values = any_device::unsqueeze(values, dim);
    if (indices.defined()) indices = any_device::unsqueeze(indices, dim);
  }
  const int64_t n = self.dim() == 0 ? 1 : self.sizes()[static_cast<size_t>(dim)];
  const auto run = [&]<class T>() {
    const cpu::LineOperand outs[] = {{values, kDType<T>}, {indices, DType::int64}};
    cpu::for_lines({self, kDType<T>}, dim, {outs, indices.defined() ? 2u : 1u}, 4096,
                   [&](const void* in, void* const* out) {
                     Line<T> line{static_cast<const T*>(in), n, {}};
                     const int64_t at = pick(line);
                     *static_cast<T*>(out[0]) = line.values[at];
                     if (out[1]) *static_cast<int64_t*>(out[1]) = at;
                   });
  };
  if (category(self.dtype()) < Category::floating) return run.template operator()<int64_t>();
  if (self.dtype() == DType::float64) return run.template operator()<double>();
  run.template operator()<float>();
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
