// Without limited dtypes (unsigned integers of more than a byte, float8): no conversions from and to them.
#include "sconce/kernels/cpu/engine/conversion.h"
#include "sconce/kernels/float8_number.h"
#include "sconce/lite/without/refuse.h"

namespace sconce {

SCONCE_WEAK TileKernels::Convert limited_conversion(DType from, DType to) {
  fail_without_conversion(is_limited(from) ? from : to);
}
SCONCE_WEAK Scalar as_float8(const Scalar&, DType common) { lite::refuse_dtype(common); }

}  // namespace sconce
