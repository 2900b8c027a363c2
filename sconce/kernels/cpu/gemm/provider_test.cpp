#include "sconce/kernels/cpu/gemm/provider.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sconce/base/error.h"
#include "sconce/kernels/cpu/conv/conv_plan.h"

namespace sconce {
namespace {

TEST(Provider, RefusesUnknownNames) {
  EXPECT_THROW(set_providers("cudnn"), Error);
  EXPECT_THROW(set_providers("onednn,mkl"), Error);
  set_providers("");
  EXPECT_EQ(providers(), "");
}

// Where the library is not installed, the error names it; where it is, results are the same.
TEST(Provider, OnednnComputesOrSaysWhatIsMissing) {
  try {
    set_providers("onednn");
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("oneDNN does not load"), std::string::npos) << e.what();
    set_providers("");
    return;
  }
  EXPECT_EQ(providers(), "onednn");
  constexpr int64_t n = 40;
  std::vector<float> a(n * n), b(n * n), c(n * n), d(n * n);
  for (size_t i = 0; i < a.size(); i++) {
    a[i] = static_cast<float>(i % 7) - 3;
    b[i] = static_cast<float>(i % 5) - 2;
  }
  gemm(DType::float32, n, n, n, {a.data(), n, 1}, {b.data(), n, 1}, {c.data(), n, 1});
  set_providers("");
  gemm(DType::float32, n, n, n, {a.data(), n, 1}, {b.data(), n, 1}, {d.data(), n, 1});
  EXPECT_EQ(c, d);

  // A plan: 8 channels of 6 x 7 pixels, 3 x 3, into 12.
  ConvShape shape;
  shape.in_channels = 8;
  shape.out_channels = 12;
  shape.in[0] = 6;
  shape.in[1] = 7;
  for (int i = 0; i < 2; i++) {
    shape.kernel[i] = 3;
    shape.padding[i] = 1;
  }
  shape.infer_output();
  const int64_t strides[] = {72, 9, 3, 1};
  std::vector<float> results[2];
  for (ConvAlgorithm algorithm : {ConvAlgorithm::direct, ConvAlgorithm::onednn}) {
    const ConvPlan plan = plan_conv(shape, DType::float32, algorithm);
    void* packed = operator new(plan.packed_bytes, std::align_val_t{64});
    plan.pack(b.data(), strides, packed);
    std::vector<float>& y = results[algorithm == ConvAlgorithm::onednn];
    y.assign(6 * 7 * 12, 0);
    Epilogue epilogue;
    epilogue.bias = a.data();
    epilogue.residual = a.data();
    epilogue.residual_stride = 12;
    epilogue.lo = -20;
    plan.run(a.data(), packed, y.data(), epilogue);
    operator delete(packed, std::align_val_t{64});
  }
  EXPECT_EQ(results[0], results[1]);
}

}  // namespace
}  // namespace sconce
