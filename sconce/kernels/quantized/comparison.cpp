// Comparisons of quantised tensors: of the numbers that they stand for.
#include "sconce/generated/comparison_kernels.h"
#include "sconce/kernels/quantized/quantize.h"
#include "sconce/ops.h"

namespace sconce::quantized {

#define COMPARISON(name)                                          \
  Tensor name##_Tensor(const Tensor& self, const Tensor& other) { \
    return sconce::name(dequantized(self), dequantized(other));   \
  }                                                               \
  Tensor name##_Scalar(const Tensor& self, const Scalar& other) { return sconce::name(dequantized(self), other); }

COMPARISON(eq)
COMPARISON(ne)
COMPARISON(lt)
COMPARISON(le)
COMPARISON(gt)
COMPARISON(ge)

}  // namespace sconce::quantized
