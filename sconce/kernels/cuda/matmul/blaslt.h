// cuBLASLt: NVIDIA's library of matrix products, opened when the first one is computed.
#pragma once

#include <string>

#include "sconce/kernels/cuda/matmul/product.h"

namespace sconce::cuda {

// False when the library is not there or does not serve this product; said once in the log (SCONCE_LOGS=kernels).
bool multiply_by_blaslt(const Product& product, Device device, const char* operator_name);

// "130100", and empty when it is not there: why_no_blaslt() names the files that were looked for.
std::string blaslt_version();
std::string why_no_blaslt();

}  // namespace sconce::cuda
