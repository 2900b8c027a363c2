// C++ source of nests: what is printed, what is refused. tests/cli compiles one and runs it.
#include "sconce/loops/nest_source.h"

#include "sconce/loops/test_nest.h"
#include "sconce/testing/error_of.h"

#include <gtest/gtest.h>

namespace sconce::loops {
namespace {

Nest nest_of(const char* text) { return NestText(text).nest; }

TEST(NestSource, HasLoopsLoadsStepsAndStores) {
  EXPECT_EQ(to_source(nest_of("nest [2, 3]\n"
                              "  b0 f32 (3, 1)\n"
                              "  b1 f32 (0, 1)\n"
                              "  b2 f32 (3, 1) written\n"
                              "  %0 : f32 = mul.Tensor(b0, b1)\n"
                              "  b2 = %0\n"),
                      "scaled"),
            R"(// nest [2, 3]
//   b0 f32 (3, 1)
//   b1 f32 (0, 1)
//   b2 f32 (3, 1) written
//   %0 : f32 = mul.Tensor(b0, b1)
//   b2 = %0
// strides: of each buffer, in elements
extern "C" void scaled(void* const* buffers, const int64_t* sizes, const int64_t* const* strides) {
  for (int64_t i0 = 0; i0 < sizes[0]; ++i0) {
    for (int64_t i1 = 0; i1 < sizes[1]; ++i1) {
      const float x0 = static_cast<const float*>(buffers[0])[i0 * strides[0][0] + i1 * strides[0][1]];
      const float x1 = static_cast<const float*>(buffers[1])[i0 * strides[1][0] + i1 * strides[1][1]];
      const auto v0_2 = static_cast<float>(x0 * x1);
      const auto v0 = static_cast<float>(v0_2);
      static_cast<float*>(buffers[2])[i0 * strides[2][0] + i1 * strides[2][1]] = v0;
    }
  }
}
)");
}

TEST(NestSource, NamesWhatHasNone) {
  const auto source_of = [](const char* text) { to_source(nest_of(text), "f"); };
  EXPECT_ERROR(source_of("nest [4]\n  b0 bf16 (1)\n  b1 bf16 (1) written\n  %0 : bf16 = neg(b0)\n  b1 = %0\n"),
               "bfloat16, which C++ has no type for");
  EXPECT_ERROR(source_of("nest [4]\n  b0 f32 (1)\n  b1 f32 (1) written\n  %0 : f32 = digamma(b0)\n  b1 = %0\n"),
               "C++ source: there is none for aten::digamma, which calls digamma");
}

}  // namespace
}  // namespace sconce::loops
