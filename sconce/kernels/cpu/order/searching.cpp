// searchsorted and bucketize: where a value stands in a sorted sequence, by binary search without branches
// on the values.
#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "sconce/base/error.h"
#include "sconce/base/parallel.h"
#include "sconce/base/variants/variants.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/searching_kernels.h"
#include "sconce/kernels/any/fill.h"
#include "sconce/tensor/promotion.h"
#include "sconce/tensor/strides.h"

namespace sconce {
namespace {

SCONCE_VARIANT(together, "searchsorted.together", "8 searches in a sequence known to be sorted");
SCONCE_VARIANT(worth_a_look, "searchsorted.look",
               "values for an eighth of the sequence or more: whether it is sorted is found out");

constexpr int kTogether = 8;  // searches that run side by side, so that their loads overlap

// Does an element of the sequence come before `value` (with `right`: is it not behind it)?
template <bool right, class T>
bool comes_before(T y, T value) {
  return right ? !(y > value) : !(y >= value);
}

// first[j] = how many elements of an ascending sequence come before x[j]. No branch depends on the values.
template <class T, bool right, bool sorter>
void search(const T* sequence, const int64_t* order, int64_t n, const T* x, int64_t* first) {
  int64_t low[kTogether] = {};
  int64_t width = n;
  for (; width > 1; width -= width / 2) {
    const int64_t half = width / 2;
#pragma GCC unroll 8
    for (int j = 0; j < kTogether; ++j) {
      const int64_t at = low[j] + half - 1;
      low[j] += -static_cast<int64_t>(comes_before<right>(sequence[sorter ? order[at] : at], x[j])) & half;
    }
  }
#pragma GCC unroll 8
  for (int j = 0; j < kTogether; ++j)
    first[j] = low[j] + comes_before<right>(sequence[sorter ? order[low[j]] : low[j]], x[j]);
}

// The same by the textbook's halving: with NaN in the sequence, or out of order, the result depends on the probes.
template <class T, bool right, bool sorter>
int64_t search_one(const T* sequence, const int64_t* order, int64_t n, T x) {
  int64_t first = 0, last = n;
  while (first < last) {
    const int64_t middle = first + ((last - first) >> 1);
    if (comes_before<right>(sequence[sorter ? order[middle] : middle], x)) {
      first = middle + 1;
    } else {
      last = middle;
    }
  }
  return first;
}

template <class T>
bool ascending(const T* sequence, const int64_t* order, int64_t n) {
  bool result = true;
  for (int64_t i = 0; i < n; ++i) {
    const T y = sequence[order ? order[i] : i], before = sequence[order ? order[i > 0 ? i - 1 : 0] : i > 0 ? i - 1 : 0];
    result = result & (before <= y);
  }
  return result;
}

template <class T, bool right, bool sorter>
void search_row(const T* sequence, const int64_t* order, int64_t n, bool sorted, const T* x, int64_t count,
                int64_t* found) {
  if (together(sorted && count == kTogether)) return search<T, right, sorter>(sequence, order, n, x, found);
  for (int64_t j = 0; j < count; ++j) found[j] = search_one<T, right, sorter>(sequence, order, n, x[j]);
}

template <class T, class Index>
void search_all(const Tensor& sequence, const Tensor& values, bool right, const int64_t* order, const Tensor& out) {
  const int64_t n = sequence.sizes().back();
  const bool shared = sequence.dim() == 1;
  const int64_t per_row = shared ? values.numel() : values.sizes().back();
  const auto run = order ? (right ? search_row<T, true, true> : search_row<T, false, true>)
                         : (right ? search_row<T, true, false> : search_row<T, false, false>);
  // Looking whether a sequence is sorted pays when many values are looked up.
  const int64_t rows = values.numel() / per_row;
  std::vector<char> sorted(static_cast<size_t>(rows));
  worth_a_look(per_row * 8 >= n);
  for (int64_t row = 0; row < rows && per_row * 8 >= n; ++row)
    sorted[static_cast<size_t>(row)] = ascending(sequence.data<T>() + row * n, order ? order + row * n : nullptr, n);
  parallel_for(values.numel(), 2048, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end;) {
      const int64_t row = i / per_row;
      const int64_t count = std::min<int64_t>(kTogether, std::min(end, (row + 1) * per_row) - i);
      int64_t found[kTogether];
      run(sequence.data<T>() + row * n, order ? order + row * n : nullptr, n, sorted[static_cast<size_t>(row)],
          values.data<T>() + i, count, found);
      for (int64_t j = 0; j < count; ++j) out.data<Index>()[i + j] = static_cast<Index>(found[j]);
      i += count;
    }
  });
}

// Whether `right` or `side` asks for the place behind equal elements.
bool to_the_right(bool right, std::optional<std::string_view> side) {
  if (side) {
    SCONCE_CHECK(*side == "left" || *side == "right",
                 "torch.searchsorted(): side can only be 'left' or 'right' but got {}", *side);
    SCONCE_CHECK(
        !right || *side == "right",
        "torch.searchsorted(): side and right can't be set to opposites, got side of left while right was True");
    return *side == "right";
  }
  return right;
}

void check_search(const Tensor& sequence, const Tensor& values, const Tensor& sorter) {
  SCONCE_CHECK(sequence.dim() > 0,
               "torch.searchsorted(): boundaries tensor should have positive dimension, but got 0 dimension");
  if (values.dim() == 0) {
    SCONCE_CHECK(
        sequence.dim() == 1,
        "torch.searchsorted(): input value can be a scalar only when boundaries tensor dimension is 1, but we got "
        "boundaries tensor dim({}) and input value's dim(0) numel(1)",
        sequence.dim());
  }
  bool fits = sequence.dim() == 1 || sequence.dim() == values.dim();
  for (int64_t d = 0; fits && sequence.dim() > 1 && d + 1 < sequence.dim(); ++d)
    fits = sequence.sizes()[static_cast<size_t>(d)] == values.sizes()[static_cast<size_t>(d)];
  SCONCE_CHECK(
      fits,
      "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries "
      "tensor and input value tensor must match, but we got boundaries tensor {} and input value tensor {}",
      sequence.sizes(), values.sizes());
  if (sorter.defined()) {
    SCONCE_CHECK(
        sorter.sizes() == sequence.sizes(),
        "torch.searchsorted(): boundary and sorter must have the same size, but got boundary tensor {} and got "
        "sorter tensor {}",
        sequence.sizes(), sorter.sizes());
    SCONCE_CHECK(sorter.dtype() == DType::int64,
                 "torch.searchsorted(): sorter must be a tensor of long dtype but got dtype {}",
                 dtype_legacy_name(sorter.dtype()));
  }
}

void search_into(const Tensor& given_sequence, const Tensor& given_values, bool right, const Tensor& given_sorter,
                 const Tensor& out) {
  const DType dtype = result_type(given_sequence, given_values);
  SCONCE_CHECK_AS(not_implemented, !is_complex(dtype) && dtype != DType::bool_,
                  "\"searchsorted_out_cpu\" not implemented for '{}'", dtype_legacy_name(dtype));
  if (out.numel() == 0) return;
  const int64_t n = given_sequence.sizes().back();
  if (n == 0) return fill_tensor(out, 0);
  // Halves are searched as float, small integers as int64: it is the same order.
  const DType compute = dtype == DType::float64 ? dtype : is_floating(dtype) ? DType::float32 : DType::int64;
  const auto as = [&](const Tensor& t) { return contiguous_tensor(to_dtype(to_dtype(t, dtype), compute)); };
  const Tensor sequence = as(given_sequence), values = as(given_values);
  Tensor sorter;
  if (given_sorter.defined()) {
    sorter = contiguous_tensor(given_sorter);
    for (int64_t i = 0; i < sorter.numel(); ++i) {
      const int64_t at = sorter.data<int64_t>()[i];
      SCONCE_CHECK(at >= 0 && at < n, "torch.searchsorted(): sorter index out of range: {} of {}", at, n);
    }
  }
  const int64_t* order = sorter.defined() ? sorter.data<int64_t>() : nullptr;
  const auto run = [&]<class T>() {
    (out.dtype() == DType::int32 ? search_all<T, int32_t> : search_all<T, int64_t>)(sequence, values, right, order,
                                                                                    out);
  };
  if (compute == DType::float64) return run.template operator()<double>();
  if (compute == DType::float32) return run.template operator()<float>();
  run.template operator()<int64_t>();
}

OutSpec search_spec(IntList sizes, bool out_int32) { return {Dims(sizes), out_int32 ? DType::int32 : DType::int64}; }

void check_boundaries(const Tensor& boundaries) {
  SCONCE_CHECK(boundaries.dim() == 1, "boundaries tensor must be 1 dimension, but got dim({})", boundaries.dim());
}

}  // namespace

namespace cpu {

void searchsorted_Tensor(const Tensor& sorted_sequence, const Tensor& self, bool, bool right,
                         std::optional<std::string_view> side, const Tensor& sorter, const Tensor& out) {
  search_into(sorted_sequence, self, to_the_right(right, side), sorter, out);
}
void searchsorted_Scalar(const Tensor& sorted_sequence, const Scalar& self, bool, bool right,
                         std::optional<std::string_view> side, const Tensor& sorter, const Tensor& out) {
  search_into(sorted_sequence, wrapped_number(self), to_the_right(right, side), sorter, out);
}
void bucketize_Tensor(const Tensor& self, const Tensor& boundaries, bool, bool right, const Tensor& out) {
  search_into(boundaries, self, right, {}, out);
}
void bucketize_Scalar(const Scalar& self, const Tensor& boundaries, bool, bool right, const Tensor& out) {
  search_into(boundaries, wrapped_number(self), right, {}, out);
}

}  // namespace cpu

namespace any_device {

OutSpec searchsorted_Tensor_spec(const Tensor& sorted_sequence, const Tensor& self, bool out_int32, bool right,
                                 std::optional<std::string_view> side, const Tensor& sorter) {
  to_the_right(right, side);
  check_search(sorted_sequence, self, sorter);
  return search_spec(self.sizes(), out_int32);
}
OutSpec searchsorted_Scalar_spec(const Tensor& sorted_sequence, const Scalar& self, bool out_int32, bool right,
                                 std::optional<std::string_view> side, const Tensor& sorter) {
  to_the_right(right, side);
  check_search(sorted_sequence, wrapped_number(self), sorter);
  return search_spec({}, out_int32);
}
OutSpec bucketize_Tensor_spec(const Tensor& self, const Tensor& boundaries, bool out_int32, bool) {
  check_boundaries(boundaries);
  return search_spec(self.sizes(), out_int32);
}
OutSpec bucketize_Scalar_spec(const Scalar&, const Tensor& boundaries, bool out_int32, bool) {
  check_boundaries(boundaries);
  return search_spec({}, out_int32);
}

}  // namespace any_device
}  // namespace sconce
