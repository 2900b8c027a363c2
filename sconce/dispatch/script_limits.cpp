#include "sconce/dispatch/script_limits.h"

#include <limits>

namespace sconce::script {

double largest(DType dtype) {
  switch (dtype) {
    case DType::float16:
      return 65504;
    case DType::bfloat16:
      return 0x1.fep127;
    case DType::float32:
    case DType::complex64:
      return std::numeric_limits<float>::max();
    case DType::float64:
    case DType::complex128:
      return std::numeric_limits<double>::max();
    default:
      return 0;
  }
}

}  // namespace sconce::script
