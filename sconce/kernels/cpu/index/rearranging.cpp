// flip, triangles, repetitions: the elements of a tensor in other places of a new one.
#include <algorithm>
#include <cstring>
#include <utility>

#include "sconce/base/error.h"
#include "sconce/base/parallel.h"
#include "sconce/base/variants/variants.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/rearranging_kernels.h"
#include "sconce/kernels/cpu/engine/iterate.h"
#include "sconce/tensor/element.h"
#include "sconce/tensor/strides.h"

namespace sconce {
namespace {

SCONCE_VARIANT(reversed_rows, "flip.rows", "the last dim alone, of a contiguous tensor");
SCONCE_VARIANT(vector_rows, "flip.rows.vectors", "rows of 16 bytes or more, of elements of up to 8 bytes");
SCONCE_VARIANT(in_place, "triangle.in_place", "a contiguous tensor changed where it lies");

// out = self with the elements on one side of a diagonal, zeros elsewhere. Both may be the same tensor.
void copy_triangle(const Tensor& self, int64_t diagonal, bool lower, const Tensor& out) {
  if (out.numel() == 0) return;
  const int64_t rank = out.dim(), rows = out.sizes()[rank - 2], columns = out.sizes()[rank - 1];
  const Tensor from = contiguous_tensor(self);
  diagonal = std::clamp(diagonal, -rows - 1, columns + 1);
  const bool inplace = from.data() == out.data();
  visit_item_size(out.dtype(), [&]<class T>() {
    parallel_for(out.numel() / columns, grain_for(columns), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T* source = from.data<T>() + i * columns;
        T* to = out.data<T>() + i * columns;
        const int64_t cut = std::clamp<int64_t>(i % rows + diagonal + (lower ? 1 : 0), 0, columns);
        const int64_t keep_begin = lower ? 0 : cut, keep_end = lower ? cut : columns;
        if (!inplace) std::copy(source + keep_begin, source + keep_end, to + keep_begin);
        std::fill(to, to + keep_begin, T{});
        std::fill(to + keep_end, to + columns, T{});
      }
    });
  });
}

OutSpec triangle_spec(const Tensor& self, const char* name) {
  SCONCE_CHECK(self.dim() >= 2, "{}: input tensor must have at least 2 dimensions, got {}", name, self.sizes());
  return {self.sizes(), self.dtype()};
}

void triangle_inplace(const Tensor& self, int64_t diagonal, bool lower) {
  triangle_spec(self, lower ? "tril" : "triu");
  check_no_internal_overlap(self);
  if (!self.is_meta()) {
    if (in_place(self.is_contiguous())) {
      copy_triangle(self, diagonal, lower, self);
    } else {
      const Tensor dense = contiguous_tensor(self);
      copy_triangle(dense, diagonal, lower, dense);
      copy_tensor(self, dense);
    }
  }
  self.bump_version();
}

// out[n - 1 - i] = in[i], a vector of 16 bytes at a time: reads ascend from row to row.
template <class T>
void reverse_row(T* out, const T* in, int64_t n) {
  int64_t i = 0;
  if constexpr (sizeof(T) <= 8) {
    constexpr int kLanes = 16 / sizeof(T);
    typedef T Vector __attribute__((vector_size(16)));
    const auto reversed = []<int... k>(Vector v, std::integer_sequence<int, k...>) {
      return __builtin_shufflevector(v, v, (kLanes - 1 - k)...);
    };
    for (; i + kLanes <= n; i += kLanes) {
      Vector v;
      std::memcpy(&v, in + i, 16);
      v = reversed(v, std::make_integer_sequence<int, kLanes>());
      std::memcpy(out + n - i - kLanes, &v, 16);
    }
  }
  for (; i < n; ++i) out[n - 1 - i] = in[i];
}

}  // namespace

namespace any_device {

OutSpec tril_spec(const Tensor& self, int64_t) { return triangle_spec(self, "tril"); }
OutSpec triu_spec(const Tensor& self, int64_t) { return triangle_spec(self, "triu"); }

}  // namespace any_device

namespace cpu {

void tril(const Tensor& self, int64_t diagonal, const Tensor& out) { copy_triangle(self, diagonal, true, out); }
void triu(const Tensor& self, int64_t diagonal, const Tensor& out) { copy_triangle(self, diagonal, false, out); }
void tril_(const Tensor& self, int64_t diagonal) { triangle_inplace(self, diagonal, true); }
void triu_(const Tensor& self, int64_t diagonal) { triangle_inplace(self, diagonal, false); }

Tensor flip(const Tensor& self, IntList dims) {
  Tensor out =
      empty_strided_tensor(self.sizes(), preserved_strides(self.sizes(), self.strides()), self.dtype(), self.device());
  SmallVector<bool, 16> seen(static_cast<size_t>(std::max<int64_t>(self.dim(), 1)), false);
  Dims strides(self.strides());
  int64_t offset = 0;
  for (int64_t dim : dims) {
    const int64_t d = wrap_dim(dim, self.dim());
    SCONCE_CHECK(!seen[d], "dim {} appears multiple times in the list of dims", d);
    seen[d] = true;
    if (self.dim() == 0) continue;
    offset += (self.sizes()[d] - 1) * strides[d];
    strides[d] = -strides[d];
  }
  if (out.is_meta() || out.numel() == 0) return out;
  const int64_t last = self.dim() - 1;
  if (reversed_rows(self.is_contiguous() && self.dim() > 0 && seen[last] && dims.size() == 1)) {
    const int64_t width = self.sizes()[last];
    vector_rows(self.item_size() <= 8 && width * static_cast<int64_t>(self.item_size()) >= 16);
    visit_item_size(self.dtype(), [&]<class T>() {
      parallel_for(self.numel() / width, grain_for(width), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) reverse_row(out.data<T>() + i * width, self.data<T>() + i * width, width);
      });
    });
    return out;
  }
  run_copy({out.sizes().data(), out.sizes().size()}, {out.data(), out.dtype(), out.strides().data()},
           {self.data<char>() + offset * static_cast<int64_t>(self.item_size()), self.dtype(), strides.data()});
  return out;
}

Tensor repeat_interleave_Tensor(const Tensor& repeats, std::optional<int64_t> output_size) {
  SCONCE_CHECK(repeats.dim() == 1, "repeat_interleave only accept 1D vector as repeat, got {}", repeats.sizes());
  SCONCE_CHECK(repeats.dtype() == DType::int64 || repeats.dtype() == DType::int32,
               "repeats has to be Long or Int tensor, got {}", dtype_name(repeats.dtype()));
  if (repeats.is_meta()) {
    SCONCE_CHECK_AS(not_implemented, output_size,
                    "the result's size depends on values, which a meta tensor does not have");
    return empty_tensor({*output_size}, repeats.dtype(), repeats.device());
  }
  const Tensor counts = contiguous_tensor(sconce::to_dtype(repeats, DType::int64));
  const auto* n = counts.data<int64_t>();
  int64_t total = 0;
  for (int64_t i = 0; i < counts.numel(); ++i) {
    SCONCE_CHECK(n[i] >= 0, "repeats can not be negative, got {}", n[i]);
    SCONCE_CHECK(!__builtin_add_overflow(total, n[i], &total), "repeats are too large");
  }
  SCONCE_CHECK(!output_size || *output_size == total, "allocated size does not match required size: {} and {}",
               output_size.value_or(0), total);
  Tensor out = empty_tensor({total}, repeats.dtype(), repeats.device());
  const auto fill = [&]<class T>() {
    T* to = out.data<T>();
    for (int64_t i = 0; i < counts.numel(); ++i) to = std::fill_n(to, n[i], static_cast<T>(i));
  };
  repeats.dtype() == DType::int64 ? fill.operator()<int64_t>() : fill.operator()<int32_t>();
  return out;
}

}  // namespace cpu
}  // namespace sconce
