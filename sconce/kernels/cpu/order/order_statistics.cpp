// Medians, the k-th smallest element, the most frequent one, of each line along a dim. NaN counts as the largest.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "sconce/base/error.h"
#include "sconce/base/variants/variants.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/reduction_kernels.h"
#include "sconce/kernels/any/views/views.h"
#include "sconce/kernels/cpu/engine/for_lines.h"
#include "sconce/kernels/cpu/order/ordering.h"
#include "sconce/kernels/cpu/order/selection.h"
#include "sconce/tensor/strides.h"

namespace sconce {
namespace {

template <class T>
bool is_nan(T x) {
  if constexpr (std::is_floating_point_v<T>) return std::isnan(x);
  return false;
}
SCONCE_VARIANT(by_counts, "order.select", "lines of more than 400 elements: selected by counting keys");
SCONCE_VARIANT(by_counts_too, "kthvalue.select", "kthvalue of more than 16,384 elements");
SCONCE_VARIANT(by_insertion, "mode.insertion", "a mode of 16 elements or fewer");
SCONCE_VARIANT(by_comparisons, "mode.comparisons", "a mode of 17 to 256 elements");

constexpr int64_t kFew = 400;        // lines up to here are partitioned for a median
constexpr int64_t kShort = 16384;    // ... for kthvalue
constexpr int64_t kShortMode = 256;  // lines up to here are sorted by comparisons

template <class T>
constexpr DType kDType = std::is_same_v<T, float>    ? DType::float32
                         : std::is_same_v<T, double> ? DType::float64
                                                     : DType::int64;

// A line and the working memory to order it. Of equal elements it gives the one that PyTorch finds.
template <class T>
struct Line {
  using Bits = typename cpu::Key<T>::Bits;
  struct Item {
    Bits key, index;
  };
  const T* values;
  int64_t n;
  Scratch scratch{};
  Item* order = nullptr;

  void reset() {
    order = scratch.take<Item>(n);
    for (int64_t i = 0; i < n; ++i) order[i] = {cpu::Key<T>::of(values[i]), static_cast<Bits>(i)};
  }
  static bool before(const Item& a, const Item& b) { return a.key < b.key; }
  int64_t at(int64_t i) const { return static_cast<int64_t>(order[i].index); }

  // Index of the k-th smallest, from 0, where equal elements keep their order.
  int64_t smallest(int64_t k) {
    if (!by_counts(n > kFew)) {
      reset();
      std::nth_element(order, order + k, order + n, [](const Item& a, const Item& b) {
        return a.key < b.key || (a.key == b.key && a.index < b.index);
      });
      return at(k);
    }
    int64_t below = 0;
    const auto key = cpu::select_key(values, n, k, false, &below);
    int64_t place = -1;
    for (int64_t left = k - below; left >= 0; --left) {
      do ++place;
      while (cpu::Key<T>::of(values[place]) != key);
    }
    return place;
  }
  // The same by quickselect with the median of three as pivot: of equal elements the one that PyTorch's kthvalue finds,
  // where the line is short.
  int64_t smallest_by_partition(int64_t k) {
    if (by_counts_too(n > kShort)) return smallest(k);
    reset();
    const auto greater = [&](int64_t a, int64_t b) { return before(order[b], order[a]); };
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
    return at(k);
  }
  int64_t median(bool skip_nan) {
    int64_t nans = 0;
    for (int64_t i = 0; i < n; ++i) nans += is_nan(values[i]);
    if (nans > 0 && nans == n && skip_nan) {  // the first after a partition of what is all alike, as PyTorch has it
      reset();
      std::nth_element(order, order, order + n, [](const Item&, const Item&) { return false; });
      return at(0);
    }
    if (nans > 0 && !skip_nan) {
      int64_t first = 0;
      while (!is_nan(values[first])) ++first;
      return first;
    }
    return smallest((n - nans - 1) / 2);
  }
  // The last of its run in the order that `place` says.
  template <class Place>
  int64_t longest_run(const Place& place) const {
    int64_t best = place(0), most = 0, run = 0;
    for (int64_t i = 0; i < n; ++i) {
      run = i > 0 && values[place(i)] == values[place(i - 1)] ? run + 1 : 1;
      if (run > most) most = run, best = place(i);
    }
    return best;
  }
  int64_t mode() {
    if (by_insertion(n <= 16)) {  // by insertion, NaN being neither less nor greater, as PyTorch has it
      reset();
      std::sort(order, order + n, [&](const Item& a, const Item& b) { return values[a.index] < values[b.index]; });
      return longest_run([&](int64_t i) { return at(i); });
    }
    if (by_comparisons(n <= kShortMode)) {
      reset();
      std::sort(order, order + n, [](const Item& a, const Item& b) { return a.key < b.key; });
      return longest_run([&](int64_t i) { return at(i); });
    }
    const uint64_t* words = cpu::order_line(values, kDType<T>, n, false, scratch);
    const int64_t found = longest_run([&](int64_t i) { return static_cast<int64_t>(words[i] & 0xffffffff); });
    if (is_nan(values[found])) return found;
    reset();
    return last_when_sorted(order, order + n, cpu::Key<T>::of(values[found]),
                            2 * (std::bit_width(static_cast<uint64_t>(n)) - 1));
  }
  // Which of the elements with this key would be the last of them after std::sort, as PyTorch has it: introsort's
  // partitions, but only of the parts that hold the key. The insertion sort that follows there moves no equal elements
  // past each other. -1 when there is none.
  static int64_t last_when_sorted(Item* first, Item* last, Bits key, int depth) {
    while (last - first > 16) {
      if (depth-- == 0) {
        std::partial_sort(first, last, last, before);
        break;
      }
      Item *a = first + 1, *b = first + (last - first) / 2, *c = last - 1;
      Item* middle = before(*a, *b) ? (before(*b, *c)   ? b
                                       : before(*a, *c) ? c
                                                        : a)
                                    : (before(*a, *c)   ? a
                                       : before(*b, *c) ? c
                                                        : b);
      std::swap(*first, *middle);
      Item *low = first + 1, *high = last;
      while (true) {
        while (before(*low, *first)) ++low;
        --high;
        while (before(*first, *high)) --high;
        if (low >= high) break;
        std::swap(*low++, *high);
      }
      if (first->key <= key) {
        const int64_t found = last_when_sorted(low, last, key, depth);
        if (found >= 0) return found;
      }
      if (first->key < key) return -1;
      last = low;
    }
    for (Item* item = last; item-- != first;) {
      if (item->key == key) return static_cast<int64_t>(item->index);
    }
    return -1;
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
                     Line<T> line{static_cast<const T*>(in), n};
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
