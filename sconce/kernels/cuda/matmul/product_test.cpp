// Our own product kernel: it compiles for every dtype, where NVRTC is installed.
#include "sconce/kernels/cuda/matmul/product.h"

#include <gtest/gtest.h>

#include "sconce/kernels/cuda/device/nvrtc.h"

namespace sconce::cuda {
namespace {

TEST(Product, CompilesForEveryDtype) {
  if (!find_nvrtc()) GTEST_SKIP() << "no NVRTC: " << why_no_nvrtc();
  for (const DType dtype : {DType::bool_, DType::uint8, DType::int8, DType::int16, DType::int32, DType::int64,
                            DType::float16, DType::bfloat16, DType::float32, DType::float64, DType::complex64,
                            DType::complex128, DType::float8_e4m3fn, DType::float8_e5m2}) {
    EXPECT_NO_THROW(compile_text(product_text(dtype), 90)) << dtype_name(dtype);
  }
}

}  // namespace
}  // namespace sconce::cuda
