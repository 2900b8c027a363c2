// Without float16 and bfloat16: no convolutions of 16-bit floats that are computed in float.
#include "sconce/kernels/cpu/conv/conv_kernels.h"
#include "sconce/lite/without/refuse.h"

namespace sconce {

SCONCE_WEAK void run_narrow_conv(const ConvCall& call) { lite::refuse_dtype(call.dtype); }

}  // namespace sconce
