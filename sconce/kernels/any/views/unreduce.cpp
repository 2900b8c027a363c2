// unreduce: the view of a reduction's result that has the shape of its input, with stride 0 along reduced dims.
// Gradients of reductions are such views.
#include "sconce/base/error.h"
#include "sconce/generated/reduction_kernels.h"
#include "sconce/tensor/strides.h"
#include "sconce/tensor/tensor.h"

namespace sconce::any_device {

Tensor sconce_unreduce(const Tensor& self, IntList size, std::optional<IntList> dim, bool keepdim) {
  const auto rank = static_cast<int64_t>(size.size());
  const bool all = !dim || dim->empty();
  SmallVector<bool, 8> reduced(size.size(), all);
  if (!all) {
    for (const int64_t d : *dim) {
      const int64_t at = wrap_dim(d, rank);
      if (rank > 0) reduced[at] = true;
    }
  }
  Dims strides;
  int64_t at = 0;
  for (int64_t d = 0; d < rank; ++d) {
    const bool present = !reduced[d] || keepdim;
    SCONCE_CHECK(!present || (at < self.dim() && (self.sizes()[at] == size[d] || reduced[d])),
                 "unreduce: {} is no result of reducing {}", self.sizes(), size);
    strides.push_back(reduced[d] ? 0 : self.strides()[at]);
    at += present;
  }
  return make_view(self, size, strides, self.storage_offset());
}

}  // namespace sconce::any_device
