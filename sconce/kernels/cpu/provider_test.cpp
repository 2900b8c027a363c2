#include "sconce/kernels/cpu/provider.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sconce/base/error.h"
#include "sconce/kernels/cpu/gemm.h"

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
}

}  // namespace
}  // namespace sconce
