// Refusals of dtypes and formats that a small library was built without.
#include "sconce/base/error.h"
#include "sconce/lite/selected.h"
#include "sconce/lite/without/refuse.h"

namespace sconce::lite {

void refuse_dtype(DType dtype) {
  fail_as(ErrorKind::not_implemented, "this operator's kernel is not implemented for '{}'", dtype_legacy_name(dtype));
}

void refuse_tensor(DType dtype) {
  fail_as(ErrorKind::not_implemented, "tensors are not implemented for '{}'", dtype_legacy_name(dtype));
}

void refuse_format(Key) {
  fail_as(ErrorKind::not_implemented, "quantised tensors: this library was built without the format quantized");
}

}  // namespace sconce::lite
