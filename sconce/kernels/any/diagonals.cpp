// Diagonals that are written to: of a tensor, or of a new one.
#include <algorithm>

#include "sconce/base/error.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/index_structure_kernels.h"
#include "sconce/generated/rearranging_kernels.h"
#include "sconce/kernels/any/fill.h"
#include "sconce/kernels/any/views/views.h"
#include "sconce/tensor/strides.h"

namespace sconce::any_device {

void fill_diagonal_(const Tensor& self, const Scalar& fill_value, bool wrap) {
  const int64_t rank = self.dim();
  SCONCE_CHECK(rank >= 2, "dimensions must larger than 1, got {}", rank);
  const IntList sizes = self.sizes();
  int64_t n = sizes[0], step = 0;
  for (int64_t d = 0; d < rank; ++d) {
    SCONCE_CHECK(rank == 2 || sizes[static_cast<size_t>(d)] == sizes[0],
                 "all dimensions of input must be of equal length, got {}", sizes);
    n = std::min(n, sizes[static_cast<size_t>(d)]);
    step += self.strides()[static_cast<size_t>(d)];
  }
  check_no_internal_overlap(self);
  // With wrap, a row is left out below each square of a tall matrix.
  const int64_t height = sizes[0], width = sizes[1], rows = wrap && rank == 2 && n > 0 ? height : n;
  for (int64_t top = 0; top < rows && n > 0; top += width + 1) {
    const int64_t length = std::min(n, height - top);
    fill_tensor(make_view(self, {length}, {step}, self.storage_offset() + top * self.strides()[0]), fill_value);
  }
  self.bump_version();
}

Tensor diag_embed(const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2) {
  const int64_t rank = self.dim() + 1, a = wrap_dim(dim1, rank), b = wrap_dim(dim2, rank);
  SCONCE_CHECK(a != b, "diagonal dimensions cannot be identical {}, {}", dim1, dim2);
  SCONCE_CHECK(self.dim() > 0, "diag_embed: self must have at least one dimension");
  int64_t side;
  const bool overflow =
      offset == INT64_MIN || __builtin_add_overflow(self.sizes().back(), offset < 0 ? -offset : offset, &side);
  SCONCE_CHECK(!overflow, "diag_embed: offset {} is out of range", offset);
  Dims sizes(self.sizes());
  sizes.pop_back();
  sizes.insert(static_cast<size_t>(std::min(a, b)), side);
  sizes.insert(static_cast<size_t>(std::max(a, b)), side);
  Tensor out = empty_tensor(sizes, self.dtype(), self.device());
  fill_tensor(out, 0);
  copy_tensor(diagonal(out, offset, a, b), self);
  return out;
}

}  // namespace sconce::any_device
