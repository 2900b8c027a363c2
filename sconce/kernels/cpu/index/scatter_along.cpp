#include "sconce/kernels/cpu/index/scatter_along.h"

#include <cstring>

#include "sconce/base/budget.h"
#include "sconce/base/error.h"
#include "sconce/base/parallel.h"
#include "sconce/base/variants/variants.h"
#include "sconce/dispatch/glue.h"
#include "sconce/kernels/any/views/views.h"
#include "sconce/kernels/cpu/engine/accumulate.h"
#include "sconce/tensor/element.h"
#include "sconce/tensor/strides.h"

namespace sconce {
namespace {

// Rows of the index along its last dimension, with the offsets (in elements) at which each of them starts in the
// indexed tensor, in the index and in the other tensor.
struct Rows {
  Dims sizes, indexed, index, other;  // strides of the outer dimensions; 0 for `dim` of the indexed tensor
  int64_t length = 1, indexed_step = 0, index_step = 0, other_step = 0;
  int64_t dim_stride = 1, dim_size = 1, dim = 0;
  int64_t count = 1;
  bool along_rows = false;  // dim is the last dimension

  Rows(const Tensor& t, int64_t d, const Tensor& i, const Tensor& o) {
    // Tensors without dimensions count as vectors of one element.
    const Dims one({1});
    const Dims t_sizes = t.dim() == 0 ? one : Dims(t.sizes()), t_strides = t.dim() == 0 ? one : Dims(t.strides());
    const Dims i_sizes = i.dim() == 0 ? one : Dims(i.sizes()), i_strides = i.dim() == 0 ? one : Dims(i.strides());
    const Dims o_strides = o.dim() == 0 ? Dims(i_sizes.size(), 0) : Dims(o.strides());
    dim = d;
    dim_stride = t_strides[d];
    dim_size = t_sizes[d];
    const size_t last = i_sizes.size() - 1;
    for (size_t e = 0; e < last; ++e) {
      sizes.push_back(i_sizes[e]);
      indexed.push_back(static_cast<int64_t>(e) == d ? 0 : t_strides[e]);
      index.push_back(i_strides[e]);
      other.push_back(o_strides[e]);
      count *= i_sizes[e];
    }
    length = i_sizes[last];
    along_rows = static_cast<int64_t>(last) == d;
    indexed_step = along_rows ? 0 : t_strides[last];
    index_step = length == 1 ? 0 : i_strides[last];
    other_step = o_strides[last];
  }

  int64_t checked(int64_t v) const {
    SCONCE_CHECK_AS(index, 0 <= v && v < dim_size, "index {} is out of bounds for dimension {} with size {}", v, dim,
                    dim_size);
    return v * dim_stride;
  }

  // body(offset in the indexed tensor, in the index, in the other one) for rows [begin, end).
  template <class Body>
  void each(int64_t begin, int64_t end, const Body& body) const {
    Dims place(sizes.size(), 0);
    int64_t a = 0, b = 0, c = 0, rest = begin;
    for (size_t d = sizes.size(); d-- > 0;) {
      place[d] = rest % sizes[d];
      rest /= sizes[d];
      a += place[d] * indexed[d];
      b += place[d] * index[d];
      c += place[d] * other[d];
    }
    for (int64_t row = begin; row < end; ++row) {
      if (row % 256 == 0) Budget::poll_active();
      body(a, b, c);
      for (size_t d = sizes.size(); d-- > 0;) {
        a += indexed[d];
        b += index[d];
        c += other[d];
        if (++place[d] < sizes[d]) break;
        a -= indexed[d] * sizes[d];
        b -= index[d] * sizes[d];
        c -= other[d] * sizes[d];
        place[d] = 0;
      }
    }
  }
};

SCONCE_VARIANT(whole_rows, "gather.rows", "one index for a whole row");
SCONCE_VARIANT(dense_rows, "gather.rows.dense", "one index for a whole row of adjacent elements");
SCONCE_VARIANT(index_blocks, "gather.blocks", "the last dim, all strides 1: indices checked 32 at a time");
SCONCE_VARIANT(rows_shared, "scatter.by_rows", "the last dim: threads have rows of their own");
SCONCE_VARIANT(long_parts, "scatter.parts", "rows of more than 65,536 elements");
SCONCE_VARIANT(one_index, "scatter.rows", "one index for a whole row");
SCONCE_VARIANT(adjacent_rows, "scatter.rows.dense", "one index for a whole row of adjacent elements");
SCONCE_VARIANT(sums_in_float, "scatter.add.16_bits", "sums of float16 or bfloat16, kept in float32");

// Of dense rows: the indices of a block are checked together, then used.
template <class T>
void gather_row(const Rows& rows, const T* row, const int64_t* index, T* to) {
  constexpr int64_t block = 32;
  const auto last = static_cast<uint64_t>(rows.dim_size) - 1;
  int64_t j = 0;
  for (; j + block <= rows.length; j += block) {
    uint64_t signs = 0;  // an index below 0 or above the last one has a sign, or its distance to the last one does
    for (int64_t k = 0; k < block; ++k) {
      const auto v = static_cast<uint64_t>(index[j + k]);
      signs |= v | (last - v);
    }
    if (static_cast<int64_t>(signs) < 0) break;
    for (int64_t k = 0; k < block; ++k) to[j + k] = row[index[j + k]];
  }
  for (; j < rows.length; ++j) to[j] = row[rows.checked(index[j])];
}

template <class T, class F>
void scatter_rows(const Rows& rows, T* self, const int64_t* index, const T* src, const F& combine) {
  // Rows [begin, end), of which elements [first, last).
  const auto run = [&](int64_t begin, int64_t end, int64_t first, int64_t last) {
    rows.each(begin, end, [&](int64_t a, int64_t b, int64_t c) {
      T* to = self + a + first * rows.indexed_step;
      const int64_t* i = index + b + first * rows.index_step;
      const T* from = src + c + first * rows.other_step;
      const int64_t length = last - first;
      if (one_index(rows.index_step == 0 && !rows.along_rows)) {
        to += rows.checked(*i);
        if (adjacent_rows(rows.indexed_step == 1 && rows.other_step == 1)) {
          for (int64_t j = 0; j < length; ++j) to[j] = combine(to[j], from[j]);
        } else {
          for (int64_t j = 0; j < length; ++j)
            to[j * rows.indexed_step] = combine(to[j * rows.indexed_step], from[j * rows.other_step]);
        }
        return;
      }
      for (int64_t j = 0; j < length; ++j) {
        T& element = to[j * rows.indexed_step + rows.checked(i[j * rows.index_step])];
        element = combine(element, from[j * rows.other_step]);
      }
    });
  };
  // Threads must write to different places: rows do when each has its own part of self, else the elements of a row do
  // (in ranges of whole cache lines). `run` is called in one place, so that there is one of it for each type.
  // Rows that one thread works on are taken in parts: an index that was expanded may be longer than any memory.
  constexpr int64_t part = 65536;
  constexpr int64_t line = std::max<int64_t>(1, 64 / static_cast<int64_t>(sizeof(T)));
  const int64_t lines = rows.indexed_step == 0 ? 1 : (rows.length + line - 1) / line;
  const bool by_rows = rows_shared(rows.along_rows);
  long_parts(rows.length > part);
  parallel_for(by_rows ? rows.count : lines, grain_for(2 * (by_rows ? rows.length : rows.count * line)),
               [&](int64_t begin, int64_t end) {
                 const int64_t last = by_rows || end == lines ? rows.length : end * line;
                 for (int64_t first = by_rows ? 0 : begin * line, stop = 0; first < last; first = stop) {
                   stop = last - first > part ? first + part : last;
                   Budget::poll_active();
                   run(by_rows ? begin : 0, by_rows ? end : rows.count, first, stop);
                 }
               });
}

Tensor as_int64(const Tensor& index) { return to_dtype(index, DType::int64); }

}  // namespace

Combine combine_from_name(std::string_view name) {
  if (name == "sum" || name == "add") return Combine::add;
  if (name == "prod" || name == "multiply") return Combine::multiply;
  if (name == "amax") return Combine::larger;
  if (name == "amin") return Combine::smaller;
  fail("reduce argument must be either sum, prod, mean, amax or amin (or add, multiply), got {}", name);
}

void check_index_dtype(const Tensor& index, const char* op) {
  SCONCE_CHECK(index.dtype() == DType::int64 || index.dtype() == DType::int32,
               "{}(): Expected dtype int32/int64 for index, got {}", op, dtype_name(index.dtype()));
}

Tensor expanded_index(const Tensor& index, int64_t dim, IntList sizes) {
  if (sizes.empty()) return index;
  Dims strides(sizes.size(), 0);
  strides[dim] = index.dim() == 0 ? 1 : index.strides()[0];
  return make_view(index, sizes, strides, index.storage_offset());
}

void gather_along(const Tensor& self, int64_t dim, const Tensor& given, const Tensor& out) {
  if (given.numel() == 0) return;
  const Tensor index = as_int64(given);
  const Rows rows(self, dim, index, out);
  visit_item_size(self.dtype(), [&]<class T>() {
    const T* from = self.data<T>();
    const auto* places = index.data<int64_t>();
    T* to = out.data<T>();
    parallel_for(rows.count, grain_for(2 * rows.length), [&](int64_t begin, int64_t end) {
      rows.each(begin, end, [&](int64_t a, int64_t b, int64_t c) {
        const T* row = from + a;
        const int64_t* i = places + b;
        T* target = to + c;
        if (whole_rows(rows.index_step == 0 && !rows.along_rows)) {
          row += rows.checked(*i);
          if (dense_rows(rows.indexed_step == 1 && rows.other_step == 1)) {
            std::memcpy(target, row, static_cast<size_t>(rows.length) * sizeof(T));
          } else {
            for (int64_t j = 0; j < rows.length; ++j) target[j * rows.other_step] = row[j * rows.indexed_step];
          }
          return;
        }
        if (index_blocks(rows.along_rows && rows.dim_stride == 1 && rows.index_step == 1 && rows.other_step == 1)) {
          return gather_row(rows, row, i, target);
        }
        for (int64_t j = 0; j < rows.length; ++j)
          target[j * rows.other_step] = row[j * rows.indexed_step + rows.checked(i[j * rows.index_step])];
      });
    });
  });
}

void scatter_along(const Tensor& self, int64_t dim, const Tensor& given, const Tensor& src, Combine combine) {
  if (given.numel() == 0) return;
  const Tensor index = as_int64(given);
  if (sums_in_float(combine == Combine::add &&
                    is_reduced_float(self.dtype()))) {  // sums of many halves are kept in float
    const Tensor wide = empty_tensor(self.sizes(), DType::float32);
    copy_tensor(wide, self);
    scatter_along(wide, dim, index, to_dtype(src, DType::float32), combine);
    copy_tensor(self, wide);
    return;
  }
  const Rows rows(self, dim, index, src);
  const auto* places = index.data<int64_t>();
  if (combine == Combine::assign) {
    visit_item_size(self.dtype(), [&]<class T>() {
      scatter_rows(rows, self.data<T>(), places, src.data<T>(), [](T, T b) { return b; });
    });
    return;
  }
  if (self.dtype() == DType::bool_) {  // bytes: see Note [Bytes of bools]
    auto* to = self.data<uint8_t>();
    const auto* from = src.data<uint8_t>();
    if (combine == Combine::add || combine == Combine::larger)
      return scatter_rows(rows, to, places, from, [](uint8_t a, uint8_t b) -> uint8_t { return (a | b) != 0; });
    return scatter_rows(rows, to, places, from, [](uint8_t a, uint8_t b) -> uint8_t { return a != 0 && b != 0; });
  }
  visit_dtype(self.dtype(), [&]<class T>() {
    T* to = self.data<T>();
    const T* from = src.data<T>();
    switch (combine) {
      case Combine::add:
        scatter_rows(rows, to, places, from, [](T a, T b) { return add_elements(a, b); });
        return;
      case Combine::multiply:
        scatter_rows(rows, to, places, from, [](T a, T b) { return multiply_elements(a, b); });
        return;
      default:
        break;
    }
    if constexpr (kIsComplex<T>) {
      fail_as(ErrorKind::not_implemented, "maximum and minimum are not implemented for complex numbers");
    } else if (combine == Combine::larger) {
      scatter_rows(rows, to, places, from, [](T a, T b) { return larger_element(a, b); });
    } else {
      scatter_rows(rows, to, places, from, [](T a, T b) { return smaller_element(a, b); });
    }
  });
}

}  // namespace sconce
