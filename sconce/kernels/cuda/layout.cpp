#include "sconce/kernels/cuda/layout.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace sconce::cuda {
namespace {

// Whether dimension `a` belongs outside of `b`: by the first operand that has an opinion. 0 is a broadcast, which has
// none.
bool is_outside(const Layout& l, int a, int b) {
  for (int k = 0; k < l.operands; ++k) {
    const int64_t x = l.stride[k][a], y = l.stride[k][b];
    if (x == 0 || y == 0 || x == y) continue;
    return x > y;
  }
  return false;
}

void swap_dimensions(Layout& l, int a, int b) {
  std::swap(l.size[a], l.size[b]);
  for (int k = 0; k < l.operands; ++k) std::swap(l.stride[k][a], l.stride[k][b]);
}

bool is_one_line(const Layout& l, int inner, int outer) {
  for (int k = 0; k < l.operands; ++k) {
    if (l.stride[k][outer] != l.stride[k][inner] * l.size[inner]) return false;
  }
  return true;
}

Layout present(std::span<const int64_t> sizes, const Operand* const* operands, int count) {
  Layout l;
  l.operands = count;
  for (size_t d = sizes.size(); d-- > 0;) {
    if (sizes[d] == 1) continue;
    l.size[l.rank] = sizes[d];
    for (int k = 0; k < count; ++k) l.stride[k][l.rank] = operands[k]->strides[d];
    ++l.rank;
  }
  return l;
}

void merge(Layout& l) {
  int last = 0;
  for (int d = 1; d < l.rank; ++d) {
    if (is_one_line(l, last, d)) {
      l.size[last] *= l.size[d];
      continue;
    }
    ++last;
    l.size[last] = l.size[d];
    for (int k = 0; k < l.operands; ++k) l.stride[k][last] = l.stride[k][d];
  }
  if (l.rank > 0) {
    l.rank = last + 1;
    return;
  }
  l.rank = 1;
  l.size[0] = 1;
  for (int k = 0; k < l.operands; ++k) l.stride[k][0] = 1;
}

}  // namespace

Layout layout_of(std::span<const int64_t> sizes, const Operand* const* operands, int count) {
  Layout l = present(sizes, operands, count);
  for (int d = 1; d < l.rank; ++d) {
    for (int at = d; at > 0 && is_outside(l, at - 1, at); --at) swap_dimensions(l, at - 1, at);
  }
  merge(l);
  return l;
}

Layout layout_in_order(std::span<const int64_t> sizes, const Operand* const* operands, int count) {
  Layout l = present(sizes, operands, count);
  merge(l);
  return l;
}

bool is_streamed(const Layout& l, int k) {
  for (int d = 0; d < l.rank; ++d) {
    if (l.size[d] > 1 && l.stride[k][d] == 0) return false;
  }
  return true;
}

int packs_at_once(int64_t bytes, int64_t wanted) {
  return static_cast<int>(std::clamp<int64_t>(wanted / std::max<int64_t>(bytes, 1), 1, 2));
}

Division division_by(uint32_t size) {
  const auto shift = static_cast<uint32_t>(std::bit_width(size - 1));
  const uint64_t magic = ((uint64_t{1} << 32) * ((uint64_t{1} << shift) - size)) / size + 1;
  return {static_cast<uint32_t>(magic), shift};
}

}  // namespace sconce::cuda
