// prims::as_strided: its schema promises the argument itself, its result is a view of it. Hence no typed kernel, which
// would return the argument.
#include "sconce/base/error.h"
#include "sconce/generated/prims_kernels.h"
#include "sconce/generated/view.h"
#include "sconce/kernels/any/prims_geometry.h"

namespace sconce::boxed {

// (Tensor(a!) a, SymInt[] size, SymInt[] stride, SymInt storage_offset) -> Tensor(a!)
void prims_as_strided(const Op&, KeySet, Value* args, Value* returns) {
  const Tensor& a = args[0].to_tensor();
  const IntList size = args[1].to_list().ints(), stride = args[2].to_list().ints();
  const int64_t offset = args[3].to_int();
  SCONCE_CHECK(size.size() == stride.size(), "len(size)={} != len(stride)={}", size.size(), stride.size());
  SCONCE_CHECK(offset >= 0, "storage_offset must be >= 0, got {}", offset);
  prims::check_strides(stride);
  prims::check_sizes("as_strided", size);
  const auto length = static_cast<int64_t>(a.storage()->nbytes / a.item_size());
  const int64_t required = prims::required_length(size, stride, offset);
  SCONCE_CHECK_AS(value, length >= required,
                  "Can't view a storage of size {} with an offset of {}, shape of {}, and strides of {}, which "
                  "requires a storage of size {}",
                  length, offset, size, stride, required);
  returns[0] = sconce::as_strided(a, size, stride, offset);
}

}  // namespace sconce::boxed
