// Rows of a table by index, and the gradient of that.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "sconce/base/error.h"
#include "sconce/base/parallel.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/indexing_kernels.h"
#include "sconce/kernels/any/fill.h"
#include "sconce/kernels/cpu/engine/accumulate.h"
#include "sconce/kernels/cpu/index/scatter_along.h"
#include "sconce/tensor/element.h"

namespace sconce::cpu {
namespace {

constexpr int64_t kParallelBytes = 1 << 16;

template <class I>
void copy_rows(const char* table, int64_t rows, int64_t bytes, const I* indices, int64_t count, char* out) {
  parallel_for(
      count, std::max<int64_t>(1, kParallelBytes / std::max<int64_t>(bytes, 1)), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t row = indices[i];
          SCONCE_CHECK_AS(index, 0 <= row && row < rows, "index out of range in self: {} of {} rows", row, rows);
          std::memcpy(out + i * bytes, table + row * bytes, static_cast<size_t>(bytes));
        }
      });
}

}  // namespace

void embedding(const Tensor& weight, const Tensor& indices, int64_t, bool, bool, const Tensor& out) {
  const Tensor table = contiguous_tensor(weight), places = contiguous_tensor(indices);
  const int64_t bytes = weight.sizes()[1] * static_cast<int64_t>(weight.item_size());
  const auto run = [&]<class I>() {
    copy_rows(table.data<char>(), weight.sizes()[0], bytes, places.data<I>(), places.numel(), out.data<char>());
  };
  if (indices.dtype() == DType::int64)
    run.operator()<int64_t>();
  else
    run.operator()<int32_t>();
}

void embedding_dense_backward(const Tensor& grad_output, const Tensor& indices, int64_t num_weights,
                              int64_t padding_idx, bool scale_grad_by_freq, const Tensor& out) {
  check_index_dtype(indices, "embedding_dense_backward");
  SCONCE_CHECK(grad_output.numel() == indices.numel() * out.sizes()[1],
               "embedding_dense_backward: grad_output must have one row per index, got {} for indices {}",
               grad_output.sizes(), indices.sizes());
  fill_tensor(out, 0);
  const int64_t width = out.sizes()[1], count = indices.numel();
  if (count == 0 || width == 0) return;
  const Tensor places = contiguous_tensor(to_dtype(indices, DType::int64));
  const Tensor grad = contiguous_tensor(grad_output);
  const auto* index = places.data<int64_t>();
  std::vector<int64_t> times(scale_grad_by_freq ? static_cast<size_t>(num_weights) : 0, 0);
  for (int64_t i = 0; i < count; ++i) {
    SCONCE_CHECK_AS(index, 0 <= index[i] && index[i] < num_weights, "index out of range in self: {} of {} rows",
                    index[i], num_weights);
    if (scale_grad_by_freq) ++times[index[i]];
  }
  visit_dtype(out.dtype(), [&]<class T>() {
    for (int64_t i = 0; i < count; ++i) {
      if (index[i] == padding_idx) continue;
      T* to = out.data<T>() + index[i] * width;
      const T* from = grad.data<T>() + i * width;
      const double scale = scale_grad_by_freq ? 1.0 / static_cast<double>(times[index[i]]) : 1.0;
      for (int64_t j = 0; j < width; ++j) {
        if constexpr (std::is_integral_v<T>) {  // the scale is an integer, too, as in PyTorch
          to[j] = add_elements(to[j], multiply_elements(from[j], static_cast<T>(scale)));
        } else {
          using W = decltype(widened(T{}));
          to[j] = narrowed<T>(widened(to[j]) + widened(from[j]) * static_cast<W>(scale));
        }
      }
    }
  });
}

namespace {

// Scales a row down to max_norm where its norm is larger.
template <class T>
void limit_norm(T* row, int64_t width, double max_norm, double norm_type) {
  const bool largest = norm_type == std::numeric_limits<double>::infinity();
  double sum = 0;
  for (int64_t j = 0; j < width; ++j) {
    const double a = static_cast<double>(std::abs(widened(row[j])));
    sum = largest ? std::max(sum, a) : sum + std::pow(a, norm_type);
  }
  const double norm = largest ? sum : std::pow(sum, 1 / norm_type);
  if (norm <= max_norm) return;
  const double scale = max_norm / (norm + 1e-7);
  for (int64_t j = 0; j < width; ++j) {
    if constexpr (kIsComplex<T>)
      row[j] *= static_cast<typename T::value_type>(scale);
    else
      row[j] = narrowed<T>(static_cast<double>(widened(row[j])) * scale);
  }
}

}  // namespace

void embedding_renorm_(const Tensor& self, const Tensor& indices, double max_norm, double norm_type) {
  SCONCE_CHECK(self.dim() == 2, "embedding_renorm_: self must be a matrix, got {}", self.sizes());
  check_index_dtype(indices, "embedding_renorm_");
  SCONCE_CHECK(is_floating(self.dtype()) || is_complex(self.dtype()),
               "norm(): input dtype should be either floating point or complex. Got {} instead.",
               dtype_legacy_name(self.dtype()));
  if (!self.is_meta()) {
    const Tensor places = contiguous_tensor(sconce::to_dtype(indices, DType::int64));
    const Tensor table = contiguous_tensor(self);
    const int64_t rows = self.sizes()[0], width = self.sizes()[1];
    std::vector<bool> done(static_cast<size_t>(rows), false);
    visit_dtype(self.dtype(), [&]<class T>() {
      if constexpr (!std::is_integral_v<T>) {
        for (int64_t i = 0; i < places.numel(); ++i) {
          const int64_t row = places.data<int64_t>()[i];
          SCONCE_CHECK_AS(index, 0 <= row && row < rows, "index out of range in self: {} of {} rows", row, rows);
          if (!done[row]) limit_norm(table.data<T>() + row * width, width, max_norm, norm_type);
          done[row] = true;
        }
      }
    });
    if (!table.is_same(self)) copy_tensor(self, table);
  }
  self.bump_version();
}

}  // namespace sconce::cpu
