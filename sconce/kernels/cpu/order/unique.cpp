// Distinct elements and distinct slices. NaN equals nothing, so each one is kept.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>
#include <tuple>
#include <vector>

#include "sconce/base/error.h"
#include "sconce/base/parallel.h"
#include "sconce/base/variants/variants.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/sorting_kernels.h"
#include "sconce/kernels/any/fill.h"
#include "sconce/kernels/any/views/views.h"
#include "sconce/kernels/cpu/engine/accumulate.h"
#include "sconce/kernels/cpu/engine/sound_bools.h"
#include "sconce/kernels/cpu/order/ordering.h"
#include "sconce/kernels/cpu/order/signed_twin.h"
#include "sconce/kernels/cpu/order/sort_keys.h"
#include "sconce/tensor/strides.h"

namespace sconce {
namespace {

using Results = std::tuple<Tensor, Tensor, Tensor>;

constexpr int64_t kMaxCounts = 1 << 20;  // a table of counts this large is worth its memory traffic

void check_input(const Tensor& self, const char* name) {
  SCONCE_CHECK_AS(not_implemented, !self.is_meta(),
                  "{}: the result's size depends on values, which a meta tensor does not have", name);
  SCONCE_CHECK_AS(not_implemented, !is_complex(self.dtype()), "\"{}\" not implemented for '{}'", name,
                  dtype_legacy_name(self.dtype()));
}

Tensor empty_indices(IntList sizes) { return empty_tensor(sizes, DType::int64); }
template <class T>
Tensor vector_of(const std::vector<T>& from, DType dtype) {
  Tensor out = empty_tensor({static_cast<int64_t>(from.size())}, dtype);
  if (!from.empty()) std::memcpy(out.data(), from.data(), from.size() * sizeof(T));
  return out;
}

SCONCE_VARIANT(by_table, "unique.table", "integers in a range of at most 8 n + 256 and 1,048,576");
SCONCE_VARIANT(values_alone, "unique.sorted.values", "neither inverse nor counts wanted");

// Integers in a narrow range are counted in a table. Returns false when the range is too wide.
template <class T>
bool unique_by_table(const T* x, int64_t n, const Tensor& inverse, bool counts, Tensor* values, Tensor* counted) {
  T low = x[0], high = x[0];
  for (int64_t i = 1; i < n; ++i) {
    low = std::min(low, x[i]);
    high = std::max(high, x[i]);
  }
  const uint64_t span = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  if (!by_table(span < static_cast<uint64_t>(std::min<int64_t>(kMaxCounts, 8 * n + 256)))) return false;
  const auto place = [&](T v) { return static_cast<size_t>(static_cast<uint64_t>(v) - static_cast<uint64_t>(low)); };
  std::vector<int64_t> table(static_cast<size_t>(span) + 1);
  for (int64_t i = 0; i < n; ++i) ++table[place(x[i])];
  int64_t m = 0;
  for (int64_t c : table) m += c > 0;
  *values = empty_tensor({m}, values->dtype());
  if (counts) *counted = empty_indices({m});
  int64_t at = 0;
  for (size_t i = 0; i < table.size(); ++i) {
    if (table[i] == 0) continue;
    values->data<T>()[at] = static_cast<T>(static_cast<uint64_t>(low) + i);
    if (counts) counted->data<int64_t>()[at] = table[i];
    table[i] = at++;
  }
  if (inverse.defined()) {
    parallel_for(n, 16384, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) inverse.data<int64_t>()[i] = table[place(x[i])];
    });
  }
  return true;
}

template <class T>
void unique_by_order(const T* x, int64_t n, const Tensor& inverse, bool counts, Tensor* values, Tensor* counted) {
  Scratch scratch;
  T* found = scratch.take<T>(n + 1);
  int64_t m = 0;
  if (values_alone(!inverse.defined() && !counts)) {  // the order itself is not needed
    T* sorted = scratch.take<T>(n);
    cpu::sort_line(x, values->dtype(), n, false, sorted, nullptr);
    for (int64_t i = 0; i < n; ++i) {
      const bool starts = i == 0 || widened(sorted[i]) != widened(sorted[i - 1]);
      found[m] = sorted[i];
      m += starts;
    }
  } else {
    const uint64_t* words = cpu::order_line(x, values->dtype(), n, false, scratch);
    auto* starts = scratch.take<int64_t>(n + 1);
    for (int64_t i = 0; i < n; ++i) {
      const auto at = static_cast<int64_t>(words[i] & 0xffffffff);
      if (m == 0 || widened(x[at]) != widened(x[words[i - 1] & 0xffffffff])) {
        starts[m] = i;
        found[m++] = x[at];
      }
      if (inverse.defined()) inverse.data<int64_t>()[at] = m - 1;
    }
    starts[m] = n;
    if (counts) *counted = empty_indices({m});
    for (int64_t i = 0; i < m && counts; ++i) counted->data<int64_t>()[i] = starts[i + 1] - starts[i];
  }
  *values = empty_tensor({m}, values->dtype());
  std::copy(found, found + m, values->data<T>());
}

// Unsigned integers by way of their signed twins.
template <class F>
Results through_twin(const Tensor& self, const F& unique) {
  const auto [values, inverse, counts] = unique(cpu::signed_twin(self));
  return {cpu::from_signed_twin(values, self.dtype()), inverse, counts};
}

Results unique_elements(const Tensor& self, bool return_inverse, bool return_counts) {
  check_input(self, "unique");
  if (is_limited(self.dtype()))
    return through_twin(self, [&](const Tensor& t) { return unique_elements(t, return_inverse, return_counts); });
  const Tensor x = contiguous_tensor(sound_bools(self));
  const int64_t n = x.numel();
  Tensor values = empty_tensor({0}, self.dtype()), inverse, counts = empty_indices({0});
  if (return_inverse) inverse = empty_indices(self.sizes());
  if (n > 0) {
    cpu::visit_ordered(self.dtype(), [&]<class T>() {
      if constexpr (std::is_same_v<T, bool>) {  // as bytes
        Tensor bytes = empty_tensor({0}, DType::uint8);
        unique_by_table(x.data<uint8_t>(), n, inverse, return_counts, &bytes, &counts);
        values = to_dtype(bytes, DType::bool_);
        return;
      } else {
        if constexpr (std::is_integral_v<T>) {
          if (unique_by_table(x.data<T>(), n, inverse, return_counts, &values, &counts)) return;
        }
        unique_by_order(x.data<T>(), n, inverse, return_counts, &values, &counts);
      }
    });
  }
  return {values, inverse.defined() ? inverse : empty_indices({0}), counts};
}

// Calls f with the type that slices are compared in: int64, float or double.
template <class F>
void visit_compared(DType t, F&& f) {
  if (t == DType::float64) return f.template operator()<double>();
  if (t == DType::float32) return f.template operator()<float>();
  f.template operator()<int64_t>();
}

// Rows that differ from the one before, in the order `rows`. `compared` are the rows in the type they are compared in.
Results gather_rows(const Tensor& flat, const Tensor& compared, const std::vector<int64_t>& rows, const Tensor& moved,
                    int64_t dim) {
  const int64_t n = flat.sizes()[0], width = flat.sizes()[1];
  const Tensor inverse = empty_indices({n});
  std::vector<int64_t> first, counts;
  visit_compared(compared.dtype(), [&]<class T>() {
    const T* data = compared.data<T>();
    const auto equal = [&](int64_t a, int64_t b) {
      for (int64_t k = 0; k < width; ++k) {
        if (!(data[a * width + k] == data[b * width + k])) return false;
      }
      return true;
    };
    for (int64_t i = 0; i < n; ++i) {
      if (i == 0 || !equal(rows[static_cast<size_t>(i)], first.back())) {
        first.push_back(rows[static_cast<size_t>(i)]);
        counts.push_back(0);
      }
      ++counts.back();
      inverse.data<int64_t>()[rows[static_cast<size_t>(i)]] = static_cast<int64_t>(first.size()) - 1;
    }
  });
  Dims sizes(moved.sizes());
  sizes[0] = static_cast<int64_t>(first.size());
  const Tensor out = empty_tensor(sizes, flat.dtype());
  const size_t bytes = static_cast<size_t>(width) * flat.item_size();
  for (size_t i = 0; i < first.size() && bytes > 0; ++i)
    std::memcpy(out.data<char>() + i * bytes, flat.data<char>() + static_cast<size_t>(first[i]) * bytes, bytes);
  Dims back;  // dimension 0 becomes `dim`
  for (int64_t d = 0; d < out.dim(); ++d) back.push_back(d < dim ? d + 1 : d == dim ? 0 : d);
  return {any_device::permute(out, back), inverse, vector_of(counts, DType::int64)};
}

Results unique_slices(const Tensor& self, int64_t dim, bool consecutive) {
  check_input(self, "unique_dim");
  if (is_limited(self.dtype()))
    return through_twin(self, [&](const Tensor& t) { return unique_slices(t, dim, consecutive); });
  SCONCE_CHECK_AS(index, self.dim() > 0, "Dimension specified as {} but tensor has no dimensions", dim);
  dim = wrap_dim(dim, self.dim());
  const int64_t n = self.sizes()[static_cast<size_t>(dim)];
  for (int64_t d = 0; d < self.dim(); ++d) {
    SCONCE_CHECK(d == dim || self.sizes()[static_cast<size_t>(d)] > 0,
                 "There are 0 sized dimensions, and they aren't selected, so unique cannot be applied: {}",
                 self.sizes());
  }
  if (n == 0) return {empty_tensor(self.sizes(), self.dtype()), empty_indices({0}), empty_indices({0})};
  Dims front{dim};
  for (int64_t d = 0; d < self.dim(); ++d) {
    if (d != dim) front.push_back(d);
  }
  const Tensor moved = contiguous_tensor(any_device::permute(self, front));
  const int64_t width = moved.numel() / n;
  const Tensor flat = any_device::view(moved, {n, width});
  const DType compute = self.dtype() == DType::float64 ? DType::float64
                        : is_floating(self.dtype())    ? DType::float32
                                                       : DType::int64;
  const Tensor compared = to_dtype(flat, compute);
  std::vector<int64_t> rows(static_cast<size_t>(n));
  std::iota(rows.begin(), rows.end(), 0);
  if (!consecutive) {
    visit_compared(compared.dtype(), [&]<class T>() {
      const T* data = compared.data<T>();
      std::stable_sort(rows.begin(), rows.end(), [&](int64_t a, int64_t b) {
        for (int64_t k = 0; k < width; ++k) {
          const T x = data[a * width + k], y = data[b * width + k];
          if (x < y) return true;
          if (x > y) return false;
        }
        return false;
      });
    });
  }
  return gather_rows(flat, compared, rows, moved, dim);
}

Results unique_runs(const Tensor& self, bool return_inverse, bool return_counts) {
  check_input(self, "unique");
  if (is_limited(self.dtype()))
    return through_twin(self, [&](const Tensor& t) { return unique_runs(t, return_inverse, return_counts); });
  const Tensor x = contiguous_tensor(sound_bools(self));
  const int64_t n = x.numel();
  Tensor values = empty_tensor({0}, self.dtype()), inverse = empty_indices({0}), counts = empty_indices({0});
  if (return_inverse) inverse = empty_indices(self.sizes());
  cpu::visit_ordered(self.dtype(), [&]<class T>() {
    const T* data = x.data<T>();
    const auto starts = [&](int64_t i) { return i == 0 || !(widened(data[i]) == widened(data[i - 1])); };
    values = empty_tensor({n}, self.dtype());
    T* found = values.data<T>();
    int64_t m = 0;
    for (int64_t i = 0; i < n; ++i) {
      const bool start = starts(i);
      found[m] = data[i];  // where the next run will write
      m += start;
    }
    resize_tensor(values, {m});
    if (!return_inverse && !return_counts) return;
    if (return_counts) {
      counts = empty_indices({m});
      fill_tensor(counts, 0);
    }
    int64_t at = -1;
    for (int64_t i = 0; i < n; ++i) {
      at += starts(i);
      if (return_inverse) inverse.data<int64_t>()[i] = at;
      if (return_counts) ++counts.data<int64_t>()[at];
    }
  });
  return {values, inverse, counts};
}

}  // namespace

namespace cpu {

std::tuple<Tensor, Tensor> _unique(const Tensor& self, bool, bool return_inverse) {
  auto [values, inverse, counts] = unique_elements(self, return_inverse, false);
  return {values, inverse};
}
Results _unique2(const Tensor& self, bool, bool return_inverse, bool return_counts) {
  return unique_elements(self, return_inverse, return_counts);
}
Results unique_dim(const Tensor& self, int64_t dim, bool, bool, bool) { return unique_slices(self, dim, false); }
Results unique_dim_consecutive(const Tensor& self, int64_t dim, bool, bool) { return unique_slices(self, dim, true); }
Results unique_consecutive(const Tensor& self, bool return_inverse, bool return_counts, std::optional<int64_t> dim) {
  if (dim && !(self.dim() == 1 && *dim == 0)) return unique_slices(self, *dim, true);
  return unique_runs(self, return_inverse, return_counts);
}

}  // namespace cpu
}  // namespace sconce
