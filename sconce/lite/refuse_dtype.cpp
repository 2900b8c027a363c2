// Refusals of dtypes that a small library was built without (without/refuse.h).
#include "sconce/base/error.h"
#include "sconce/lite/without/refuse.h"

namespace sconce::lite {

void refuse_dtype(DType dtype) {
  fail_as(ErrorKind::not_implemented, "this operator's kernel is not implemented for '{}'", dtype_legacy_name(dtype));
}

}  // namespace sconce::lite
