#include "sconce/kernels/cpu/index/nonzero.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "sconce/base/error.h"
#include "sconce/base/parallel.h"
#include "sconce/base/variants/variants.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/indexing_kernels.h"
#include "sconce/kernels/any/fill.h"
#include "sconce/kernels/cpu/engine/accumulate.h"
#include "sconce/tensor/element.h"

namespace sconce {
namespace {

SCONCE_VARIANT(by_words, "nonzero.words", "elements of one byte, eight at a time");
SCONCE_VARIANT(several_parts, "nonzero.parts", "several threads, 65,536 elements or more");
SCONCE_VARIANT(one_dim, "nonzero.one_dim", "positions of a vector");

constexpr int64_t kPartElements = 1 << 15;  // that are worth a thread

// Calls body(flat position) for every non-zero element. Mostly empty runs of bytes are skipped a word at a time.
template <class T, class Body>
void each_nonzero(const T* data, int64_t n, const Body& body) {
  int64_t i = 0;
  if constexpr (sizeof(T) == 1) {
    for (; i + 8 <= n; i += 8) {
      uint64_t word;
      std::memcpy(&word, data + i, 8);
      for (; word != 0; word &= ~(uint64_t{0xff} << (std::countr_zero(word) & ~7)))
        body(i + (std::countr_zero(word) >> 3));
    }
  }
  for (; i < n; ++i) {
    if (is_nonzero(data[i])) body(i);
  }
}

// The positions of the non-zero elements among [first, last), from `place` on: dimension d at place[d * count].
template <class T>
void write_positions(IntList sizes, const T* data, int64_t first, int64_t last, int64_t count, int64_t* place) {
  const auto rank = static_cast<int64_t>(sizes.size());
  if (one_dim(rank == 1)) {
    each_nonzero(data + first, last - first, [&](int64_t at) { *place++ = first + at; });
    return;
  }
  const int64_t width = sizes[rank - 1];
  Dims row(static_cast<size_t>(rank), 0);
  int64_t begin = 0;  // flat position at which `row` starts
  each_nonzero(data + first, last - first, [&](int64_t offset) {
    const int64_t at = first + offset;
    if (at - begin >= width) {
      int64_t rows = (at - begin) / width;
      begin += rows * width;
      for (int64_t d = rank - 2; d >= 0 && rows > 0; --d) {
        rows += row[d];
        row[d] = rows % sizes[d];
        rows /= sizes[d];
      }
    }
    for (int64_t d = 0; d < rank - 1; ++d) place[d * count] = row[d];
    place[(rank - 1) * count] = at - begin;
    ++place;
  });
}

}  // namespace

Tensor nonzero_positions(const Tensor& t) {
  SCONCE_CHECK_AS(not_implemented, !t.is_meta(),
                  "the result's size depends on values, which a meta tensor does not have");
  const Tensor dense = contiguous_tensor(t);
  // Bools are read as bytes: see Note [Bytes of bools].
  return visit_dtype(t.dtype() == DType::bool_ ? DType::uint8 : t.dtype(), [&]<class T>() {
    const T* data = dense.data<T>();
    const int64_t n = t.numel(), rank = t.dim();
    // Parts of the elements: counted first, so that each knows where its positions go.
    const int64_t parts = std::clamp<int64_t>(n / kPartElements, 1, num_threads());
    const auto part_begin = [&](int64_t part) { return part == parts ? n : n / parts * part; };
    by_words(sizeof(T) == 1 && n >= 8);
    several_parts(parts > 1);
    std::vector<int64_t> starts(static_cast<size_t>(parts) + 1, 0);
    parallel_for(parts, 1, [&](int64_t first, int64_t last) {
      for (int64_t part = first; part < last; ++part) {
        int64_t found = 0;
        each_nonzero(data + part_begin(part), part_begin(part + 1) - part_begin(part), [&](int64_t) { ++found; });
        starts[static_cast<size_t>(part) + 1] = found;
      }
    });
    for (size_t part = 0; part < static_cast<size_t>(parts); ++part) starts[part + 1] += starts[part];
    const int64_t count = starts.back();
    if (count == 0 || rank == 0) return empty_tensor({count, rank}, DType::int64, t.device());
    // Column by column: users of positions mostly read one dimension at a time.
    Tensor out = empty_strided_tensor({count, rank}, {1, count}, DType::int64, t.device());
    parallel_for(parts, 1, [&](int64_t first, int64_t last) {
      for (int64_t part = first; part < last; ++part) {
        write_positions(t.sizes(), data, part_begin(part), part_begin(part + 1), count,
                        out.data<int64_t>() + starts[static_cast<size_t>(part)]);
      }
    });
    return out;
  });
}

namespace cpu {

Tensor nonzero(const Tensor& self) { return nonzero_positions(self); }

std::vector<Tensor> nonzero_numpy(const Tensor& self) {
  // A number counts as a vector of one.
  const Tensor found = nonzero_positions(self.dim() == 0 ? make_view(self, {1}, {1}, self.storage_offset()) : self);
  std::vector<Tensor> out;
  for (int64_t d = 0; d < found.sizes()[1]; ++d)
    out.push_back(make_view(found, {found.sizes()[0]}, {found.strides()[0]}, d * found.strides()[1]));
  return out;
}

Tensor nonzero_static(const Tensor& self, int64_t size, int64_t fill_value) {
  SCONCE_CHECK(size >= 0, "nonzero_static: 'size' must be an non-negative integer, got {}", size);
  Tensor out = empty_tensor({size, self.dim()}, DType::int64, self.device());
  fill_tensor(out, fill_value);
  if (self.is_meta()) return out;
  const Tensor found = nonzero_positions(self);
  const int64_t rows = std::min(size, found.sizes()[0]);
  copy_tensor(make_view(out, {rows, self.dim()}, out.strides(), 0),
              make_view(found, {rows, self.dim()}, found.strides(), 0));
  return out;
}

}  // namespace cpu
}  // namespace sconce
