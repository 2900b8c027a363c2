#include "sconce/kernels/cpu/linalg/matrices.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "sconce/base/parallel.h"
#include "sconce/base/variants/variants.h"
#include "sconce/dispatch/glue.h"
#include "sconce/tensor/element.h"
#include "sconce/tensor/strides.h"

namespace sconce::linalg {
namespace {

Dims column_strides(IntList sizes) {
  Dims strides(sizes.size());
  const auto rank = sizes.size();
  int64_t step = 1;
  for (const size_t d : {rank - 2, rank - 1}) {
    strides[d] = step;
    step *= std::max<int64_t>(sizes[d], 1);
  }
  for (size_t d = rank - 2; d-- > 0;) {
    strides[d] = step;
    step *= std::max<int64_t>(sizes[d], 1);
  }
  return strides;
}

// clear(column, first row, last row) for every column of every matrix.
template <class F>
void for_columns(const Tensor& t, F clear) {
  const int64_t m = t.size(-2), n = t.size(-1);
  if (t.numel() == 0) return;
  const auto item = static_cast<int64_t>(t.item_size());
  char* p = t.data<char>();
  for (int64_t i = 0; i < t.numel() / (m * n); ++i) {
    for (int64_t c = 0; c < n; ++c, p += m * item) clear(p, c, m, item);
  }
}

template <class T>
bool finite(const T* p, int64_t n) {
  T sum = 0;  // inf - inf and nan * 0 are nan
  for (int64_t i = 0; i < n; ++i) sum += p[i] * T(0);
  return sum == 0;
}

}  // namespace

Dims batch_sizes(const Tensor& t) { return t.sizes().slice(0, t.sizes().size() - 2); }

Dims with_sizes(IntList batch, int64_t rows, int64_t columns) {
  Dims sizes(batch);
  sizes.push_back(rows);
  sizes.push_back(columns);
  return sizes;
}

Dims with_size(IntList batch, int64_t size) {
  Dims sizes(batch);
  sizes.push_back(size);
  return sizes;
}

Tensor empty_columns(IntList sizes, DType dtype, Device device) {
  if (!is_complex(dtype) || device.type != DeviceType::cpu || sizes.size() < 2)
    return empty_strided_tensor(sizes, column_strides(sizes), dtype, device);
  // OpenBLAS (0.3.21: cgemv, zgemv) reads the element of a row behind the last one, as far as a column over the end.
  const auto bytes = static_cast<size_t>(checked_numel(sizes)) * item_size(dtype);
  const auto spare = static_cast<size_t>(2 * sizes[sizes.size() - 2] + 8) * item_size(dtype);
  Ref<Storage> storage = make_storage(bytes + spare, device);
  storage->nbytes = bytes;
  return make_tensor(std::move(storage), dtype, sizes, column_strides(sizes), 0);
}

Tensor copy_columns(const Tensor& t, IntList sizes) {
  Tensor copy = empty_columns(sizes, t.dtype(), t.device());
  if (!t.is_meta()) copy_tensor(copy, t);
  return copy;
}

void clear_above(const Tensor& columns, int64_t k) {
  for_columns(columns, [&](char* p, int64_t c, int64_t m, int64_t item) {
    const int64_t rows = std::clamp<int64_t>(c - k + 1, 0, m);
    std::memset(p, 0, static_cast<size_t>(rows * item));
  });
}

void clear_below(const Tensor& columns, int64_t k) {
  for_columns(columns, [&](char* p, int64_t c, int64_t m, int64_t item) {
    const int64_t first = std::clamp<int64_t>(c + k, 0, m);
    std::memset(p + first * item, 0, static_cast<size_t>((m - first) * item));
  });
}

void check_matrices(const Tensor& t, std::string_view op, std::string_view name) {
  SCONCE_CHECK(t.dim() >= 2, "{}: The input tensor {} must have at least 2 dimensions, got shape {}", op, name,
               t.sizes());
}

void check_square(const Tensor& t, std::string_view op, std::string_view name) {
  check_matrices(t, op, name);
  SCONCE_CHECK(t.size(-1) == t.size(-2), "{}: {} must be batches of square matrices, but they are {} by {} matrices",
               op, name, t.size(-2), t.size(-1));
}

void check_floating(const Tensor& t, std::string_view op, bool reduced) {
  const DType d = t.dtype();
  SCONCE_CHECK(is_floating(d) || is_complex(d), "{}: Expected a floating point or complex tensor as input. Got {}", op,
               dtype_legacy_name(d));
  SCONCE_CHECK(reduced || !is_reduced_float(d), "{}: Low precision dtypes not supported. Got {}", op,
               dtype_legacy_name(d));
}

void check_product(const Tensor& a, const Tensor& b, std::string_view op, bool left) {
  check_square(a, op);
  check_matrices(b, op, "B");
  SCONCE_CHECK(left ? a.size(-2) == b.size(-2) : a.size(-1) == b.size(-1),
               "{}: Incompatible shapes of A and B for the equation {} ({}x{} and {}x{})", op,
               left ? "AX = B" : "XA = B", a.size(-2), a.size(-1), b.size(-2), b.size(-1));
}

SCONCE_VARIANT(by_columns_already, "linalg.columns.in_place", "matrices by columns, used where they lie");
SCONCE_VARIANT(even_matrices, "linalg.columns.even", "a batch whose matrices are evenly spaced");

Columns::Columns(const Tensor& t, IntList batch) : batch_(batch) {
  const int64_t m = t.size(-2), n = t.size(-1);
  const bool by_columns = (t.stride(-2) == 1 || m == 1) && (t.stride(-1) >= std::max<int64_t>(m, 1) || n == 1);
  tensor_ = by_columns_already(by_columns) ? t : copy_columns(t);
  ld_ = n == 1 ? std::max<int64_t>(m, 1) : std::max<int64_t>(tensor_.stride(-1), 1);
  const Dims own = batch_sizes(tensor_);
  const Dims strides = tensor_.strides().slice(0, own.size());
  strides_ = expanded_strides(own, strides, batch);
  matrix_ = -1;
  if (batch.empty()) {
    matrix_ = 0;
  } else {
    bool plain = true;
    for (size_t d = 0; d + 1 < batch.size(); ++d) plain = plain && strides_[d] == strides_[d + 1] * batch[d + 1];
    if (even_matrices(plain)) matrix_ = strides_.back();
  }
}

int64_t Columns::offset(int64_t i) const {
  if (matrix_ >= 0) return i * matrix_;
  int64_t at = 0;
  for (size_t d = batch_.size(); d-- > 0;) {
    at += i % batch_[d] * strides_[d];
    i /= batch_[d];
  }
  return at;
}

Vectors::Vectors(const Tensor& t, IntList batch) : length_(t.size(-1)) {
  const Dims sizes = with_size(batch, length_);
  if (t.is_contiguous() && t.sizes() == IntList(sizes)) {
    tensor_ = t;
  } else {
    tensor_ = empty_tensor(sizes, t.dtype(), t.device());
    if (!t.is_meta()) copy_tensor(tensor_, t);
  }
}

Tensor transposed(const Tensor& t) {
  Dims sizes(t.sizes()), strides(t.strides());
  const auto rank = sizes.size();
  std::swap(sizes[rank - 1], sizes[rank - 2]);
  std::swap(strides[rank - 1], strides[rank - 2]);
  return make_view(t, sizes, strides, t.storage_offset());
}

void for_matrices(int64_t count, double work, FunctionRef<void(int64_t, int64_t)> body) {
  constexpr double kWorth = 50'000;  // operations that outweigh waking a thread
  parallel_for(count, static_cast<int64_t>(std::max(1.0, kWorth / std::max(work, 1.0))), body);
}

bool all_finite(const float* p, int64_t n) { return finite(p, n); }
bool all_finite(const double* p, int64_t n) { return finite(p, n); }

}  // namespace sconce::linalg
