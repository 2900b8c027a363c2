// Without the format quantized: archives that hold quantised tensors are refused.
#include "sconce/base/error.h"
#include "sconce/base/weak.h"
#include "sconce/serialization/pickle/pickle_tensors.h"

namespace sconce {

SCONCE_WEAK Value rebuild_quantized(const std::vector<Value>&) {
  fail_as(ErrorKind::not_implemented, "quantised tensors: this library was built without the format quantized");
}

// No tensor has a quantizer.
SCONCE_WEAK void take_quantizer(TensorImpl&, const TensorImpl&) {}

}  // namespace sconce
