// Numbers that a trace holds as tensors without dimensions (docs/runtime.md, "Numbers of traces"). A file of PyTorch:
//   s.b * 0.1, x * 0.1, x + 0.5, x - 0.5, x / 3, 0.1 * x, n * 0.1, n // 0.5, (n > 1) + 0.5, n.to(torch.uint8) * 300
// where s.b and x are float32 without dimensions and n has int64 numbers.
#include <gtest/gtest.h>

#include "sconce/api/jit.h"
#include "sconce/serialization/lite/lite.h"
#include "sconce/testing/source_tree.h"
#include "sconce/testing/temporary_folder.h"

namespace sconce::jit {
namespace {

std::string dtypes(const Value& results) {
  std::string text;
  for (const Value& v : results.to_tuple().items)
    text += (text.empty() ? "" : " ") + std::string(dtype_name(v.to_tensor().dtype()));
  return text;
}

std::string run(const Module& m) {
  Tensor x = empty_tensor({}, DType::float32), n = empty_tensor({3}, DType::int64);
  x.data<float>()[0] = 2;
  for (int64_t i = 0; i < 3; ++i) n.data<int64_t>()[i] = i;
  return dtypes(m(x, n));
}

constexpr const char* kNumbers = "float32 float32 float32 float32 float32 float32 float32 float64 float32 uint8";

TEST(WrappedNumbers, AreNumbersInEveryCall) {
  const Module m = load(testing::source_path("tests/data/wrapped_numbers.pt"));
  for (int call = 0; call < 3; ++call) EXPECT_EQ(run(m), kNumbers);
  const testing::TemporaryFolder folder;
  m.save(folder.file("again.pt"));
  EXPECT_EQ(run(load(folder.file("again.pt"))), kNumbers);
}

// The lite interpreter runs what it was given.
TEST(WrappedNumbers, AreTensorsInLiteFiles) {
  const testing::TemporaryFolder folder;
  load(testing::source_path("tests/data/wrapped_numbers.pt")).save_lite(folder.file("m.ptl"));
  const Archive lite = load_lite_archive(folder.file("m.ptl"));
  EXPECT_EQ(run(Module(lite.unit, lite.module)),
            "float64 float64 float64 float64 float32 float64 float64 float64 float64 uint8");
}

}  // namespace
}  // namespace sconce::jit
