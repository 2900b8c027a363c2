// cat: the inputs one after the other along a dimension.
#include <algorithm>
#include <cstring>

#include "sconce/base/error.h"
#include "sconce/base/parallel.h"
#include "sconce/base/variants/variants.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/concatenation_kernels.h"
#include "sconce/kernels/cpu/engine/iterate.h"
#include "sconce/tensor/promotion.h"
#include "sconce/tensor/strides.h"

namespace sconce {
namespace {

SCONCE_VARIANT(dense_parts, "cat.dense", "contiguous tensors of the result's dtype");
SCONCE_VARIANT(one_row, "cat.one_row", "the first dim, or only sizes of 1 before it");
SCONCE_VARIANT(fixed_blocks, "cat.blocks", "blocks of 4, 8 or 16 bytes");

constexpr int64_t kParallelBytes = 1 << 18;

// Tensors of shape [0] may stand beside any others and add nothing.
bool is_skipped(const Tensor& t) { return t.dim() == 1 && t.numel() == 0; }

const Tensor* first_counted(TensorList tensors) {
  for (const Tensor& t : tensors) {
    if (!is_skipped(t)) return &t;
  }
  return nullptr;
}

MemoryFormat common_format(TensorList tensors) {
  MemoryFormat format = suggested_format(tensors[0]);
  for (const Tensor& t : tensors) {
    if (format == MemoryFormat::contiguous) break;
    if (suggested_format(t) != format) format = MemoryFormat::contiguous;
  }
  return format;
}

}  // namespace

namespace any_device {

OutSpec cat_spec(TensorList tensors, int64_t dim) {
  SCONCE_CHECK_AS(value, !tensors.empty(), "torch.cat(): expected a non-empty list of Tensors");
  ResultType type;
  for (size_t i = 0; i < tensors.size(); ++i) {
    SCONCE_CHECK(tensors[i].defined(), "torch.cat(): tensor number {} is None", i);
    SCONCE_CHECK(tensors[i].dim() > 0, "zero-dimensional tensor (at position {}) cannot be concatenated", i);
    SCONCE_CHECK(tensors[i].device() == tensors[0].device(),
                 "Expected all tensors to be on the same device, but found at least two devices, {} and {}!",
                 to_string(tensors[0].device()), to_string(tensors[i].device()));
    type.add(tensors[i]);
  }
  const Tensor* first = first_counted(tensors);
  if (!first) {
    wrap_dim(dim, 1);
    return {Dims({0}), type.get()};
  }
  const int64_t d = wrap_dim(dim, first->dim());
  Dims sizes(first->sizes());
  sizes[d] = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& t = tensors[i];
    if (is_skipped(t)) continue;
    SCONCE_CHECK(t.dim() == first->dim(),
                 "Tensors must have same number of dimensions: got {} and {}: shapes {} and {}", first->dim(), t.dim(),
                 first->sizes(), t.sizes());
    for (int64_t e = 0; e < t.dim(); ++e) {
      SCONCE_CHECK(
          e == d || t.sizes()[e] == sizes[e],
          "Sizes of tensors must match except in dimension {}. Expected size {} but got size {} for tensor number {} "
          "in the list: shapes {} and {}",
          d, sizes[e], t.sizes()[e], i, first->sizes(), t.sizes());
    }
    sizes[d] += t.sizes()[d];
  }
  return {sizes, type.get(), common_format(tensors)};
}

}  // namespace any_device

namespace cpu {

void cat(TensorList tensors, int64_t dim, const Tensor& out) {
  if (out.numel() == 0) return;
  const int64_t d = wrap_dim(dim, out.dim());
  bool dense = out.is_contiguous();
  for (const Tensor& t : tensors) dense &= t.dtype() == out.dtype() && (t.is_contiguous() || t.numel() == 0);
  if (!dense_parts(dense)) {
    int64_t at = 0;
    for (const Tensor& t : tensors) {
      if (t.numel() == 0) continue;
      char* to = out.data<char>() + at * out.strides()[d] * static_cast<int64_t>(out.item_size());
      run_copy({t.sizes().data(), t.sizes().size()}, {to, out.dtype(), out.strides().data()},
               {t.data(), t.dtype(), t.strides().data()});
      at += t.sizes()[d];
    }
    return;
  }
  // Every input is `outer` blocks; a row of the result is one block of each.
  int64_t outer = 1, inner = static_cast<int64_t>(out.item_size());
  for (int64_t e = 0; e < d; ++e) outer *= out.sizes()[e];
  for (int64_t e = d + 1; e < out.dim(); ++e) inner *= out.sizes()[e];
  const int64_t row = out.sizes()[d] * inner;
  if (one_row(outer == 1)) {
    parallel_for(row, kParallelBytes, [&](int64_t begin, int64_t end) {
      int64_t at = 0;  // where a tensor's bytes stand in the result
      for (const Tensor& t : tensors) {
        const int64_t bytes = t.numel() == 0 ? 0 : t.sizes()[d] * inner;
        const int64_t first = std::max(begin, at), last = std::min(end, at + bytes);
        if (first < last)
          std::memcpy(out.data<char>() + first, t.data<char>() + first - at, static_cast<size_t>(last - first));
        at += bytes;
      }
    });
    return;
  }
  parallel_for(outer, std::max<int64_t>(1, kParallelBytes / row), [&](int64_t begin, int64_t end) {
    int64_t at = 0;
    for (const Tensor& t : tensors) {
      if (t.numel() == 0) continue;
      const int64_t block = t.sizes()[d] * inner;
      const char* from = t.data<char>() + begin * block;
      char* to = out.data<char>() + begin * row + at;
      const auto copy_all = [&]<int kBytes>() {  // a fixed small size becomes a move
        const auto bytes = static_cast<size_t>(kBytes ? kBytes : block);
        for (int64_t i = begin; i < end; ++i, from += block, to += row) std::memcpy(to, from, bytes);
      };
      fixed_blocks(block == 4 || block == 8 || block == 16);
      switch (block) {
        case 4:
          copy_all.operator()<4>();
          break;
        case 8:
          copy_all.operator()<8>();
          break;
        case 16:
          copy_all.operator()<16>();
          break;
        default:
          copy_all.operator()<0>();
      }
      at += block;
    }
  });
}

}  // namespace cpu
}  // namespace sconce
