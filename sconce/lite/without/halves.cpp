// Without dtypes of 2 bytes: no vector code that transposes them.
#include "sconce/base/weak.h"
#include "sconce/lite/without/transpose.h"

namespace sconce {

SCONCE_AT_EACH_LEVEL(SCONCE_WEAK void transpose_halves(SCONCE_TRANSPOSE_ARGUMENTS) {
  lite::transpose_elements<2>(out, out_stride, in, in_stride, rows, columns);
})

}  // namespace sconce
