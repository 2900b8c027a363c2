// Stride arithmetic: memory formats, broadcasting and views as calculations on sizes and strides, without tensors.
#pragma once

#include <cstdint>
#include <optional>

#include "sconce/base/list_ref.h"
#include "sconce/base/small_vector.h"
#include "sconce/tensor/device.h"

namespace sconce {

// The product of sizes. Throws Error when one is negative or the product does not fit.
SCONCE_API int64_t checked_numel(IntList sizes);

// Dense strides in the given format; throws Error when the rank does not fit it (channels_last wants 4, _3d wants 5).
Dims dense_strides(IntList sizes, MemoryFormat format = MemoryFormat::contiguous);
// Dense strides in the order of the dimensions given: order[0] is the innermost.
Dims dense_strides_in_order(IntList sizes, IntList order);
// The strides of preserve_format: the same when the geometry is dense, otherwise dense strides in their order.
Dims preserved_strides(IntList sizes, IntList strides);

// The dimensions from the innermost to the outermost in memory; where strides do not tell (0, or equal strides of equal
// sizes), row-major order stays. This is the order in which PyTorch's in-place operators visit a tensor.
Dims memory_order(IntList sizes, IntList strides);

struct StrideFacts {
  bool contiguous, channels_last, channels_last_3d, dense;
};
StrideFacts stride_facts(IntList sizes, IntList strides);
bool is_channels_last(IntList sizes, IntList strides);     // 4-d, as a layout hint: not also row-major
bool is_channels_last_3d(IntList sizes, IntList strides);  // 5-d

// Broadcasting aligns right; a size of 1 or a missing one repeats. Throws Error with both shapes.
Dims broadcast_sizes(IntList a, IntList b);
// Strides of a tensor (sizes, strides) expanded to `target`: 0 where it repeats. Throws Error when it cannot be.
Dims expanded_strides(IntList sizes, IntList strides, IntList target);

// -rank <= dim < rank, made non-negative; a rank of 0 is treated as 1, as PyTorch does. Throws Error (index).
int64_t wrap_dim(int64_t dim, int64_t rank);
// Replaces one -1 in `sizes` so that the product is numel. Throws Error when it cannot.
Dims infer_size(IntList sizes, int64_t numel);
// Strides with which `sizes` views the memory of (old_sizes, old_strides), or nothing when a copy is needed.
std::optional<Dims> view_strides(IntList old_sizes, IntList old_strides, IntList sizes);

}  // namespace sconce
