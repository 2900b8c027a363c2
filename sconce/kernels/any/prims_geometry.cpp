#include "sconce/kernels/any/prims_geometry.h"

#include <algorithm>

#include "sconce/base/checked.h"
#include "sconce/base/error.h"

namespace sconce::prims {

void check_dim(int64_t rank, int64_t dim) {
  SCONCE_CHECK((dim >= 0 && dim < rank) || dim == 0, "idx {} is out of bounds for rank {}", dim, rank);
}

void check_dims(int64_t rank, IntList dims) {
  for (int64_t dim : dims) check_dim(rank, dim);
}

void check_sizes(const char* op, IntList sizes) {
  for (int64_t s : sizes) SCONCE_CHECK(s >= 0, "{}: sizes must not be negative, got {}", op, sizes);
}

void check_strides(IntList strides) {
  for (int64_t s : strides) SCONCE_CHECK(s >= 0, "stride must be non-negative, got {}", s);
}

void check_ranks(IntList sizes, IntList strides) {
  SCONCE_CHECK(sizes.size() == strides.size(), "dimensionality of sizes ({}) must match dimensionality of strides ({})",
               sizes.size(), strides.size());
}

int64_t product(IntList sizes) {
  Checked result = 1;
  for (int64_t s : sizes) result = result * s;
  return result;
}

int64_t required_length(IntList size, IntList stride, int64_t offset) {
  if (std::ranges::find(size, 0) != size.end()) return 0;
  Checked result = Checked(offset) + 1;
  for (size_t d = 0; d < size.size(); ++d) result = result + Checked(size[d] - 1) * stride[d];
  return result;
}

}  // namespace sconce::prims
