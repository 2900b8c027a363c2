// Tensor::item<T>: the part that is no template.
#undef SCONCE_BUILDING
#include "sconce/base/error.h"
#include "sconce/tensor/tensor.h"

namespace sconce {

void Tensor::refuse_item(int64_t number, size_t bytes) {
  fail_as(ErrorKind::overflow, "item: {} does not fit an integer of {} bytes", number, bytes);
}

}  // namespace sconce
