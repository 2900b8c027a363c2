#include "sconce/codegen/maker.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "sconce/codegen/joined/join.h"
#include "sconce/loops/test_nest.h"
#include "sconce/testing/error_of.h"
#include "sconce/testing/golden_file.h"
#include "sconce/testing/source_tree.h"

namespace sconce::codegen {
namespace {

using loops::Nest;
using loops::NestText;

TEST(Maker, NamesAreKnown) {
  for (const Maker m : {Maker::off, Maker::tiles, Maker::joined}) EXPECT_EQ(parse_maker(maker_name(m)), m);
  EXPECT_EQ(sconce::testing::error_of([] { parse_maker("tile"); }),
            "unknown codegen 'tile': known are off, tiles, joined");
  EXPECT_EQ(sconce::testing::error_of([] { parse_maker("llvm"); }),
            "codegen 'llvm': this build has no LLVM maker; known are off, tiles, joined");
}

// The list of loops that runs, and the bodies of those that were joined.
TEST(Maker, ProgramsAreAsExpected) {
  if (!can_join()) GTEST_SKIP() << "nothing is joined here";
  sconce::testing::check_golden_file(sconce::testing::source_path("sconce/codegen/maker.test"),
                                     [](const std::string& s) {
                                       const Nest nest = NestText(s).nest;
                                       return "tiles:\n" + make(nest, Maker::tiles)->to_string() + "joined:\n" +
                                              make(nest, Maker::joined)->to_string();
                                     });
}

const std::string kBlocks =
    "nest [37, 90]\n"
    "  b0 f32 (90, 1)\n"
    "  b1 f32 (0, 1)\n"
    "  b2 f32 (1, 0)\n"
    "  b3 bf16 (0, 0)\n"
    "  b4 f32 (100, 1) written\n"
    "  %0 : f32 = add.Tensor(b0, b1, 1)\n"
    "  %1 : f32 = mul.Tensor(%0, b2)\n"
    "  %2 : f32 = sigmoid(%1)\n"
    "  %3 : f32 = mul.Tensor(%2, %1)\n"
    "  %4 : f32 = add.Tensor(%3, b3, 2)\n"
    "  b4 = %4\n";

// Blocks of any place and size give the parts of the whole, and write nothing beside them.
TEST(Maker, BlocksArePartsOfTheWhole) {
  const Nest nest = NestText(kBlocks).nest;
  std::mt19937 random(1);
  std::vector<float> a(37 * 90), row(90), column(37), scale(1), whole(37 * 100), part(37 * 100);
  for (auto* v : {&a, &row, &column}) {
    for (float& x : *v) x = std::normal_distribution<float>()(random);
  }
  const uint16_t number = 0x3fc0;  // 1.5
  std::memcpy(scale.data(), &number, 2);
  make(nest, Maker::off)
      ->run(std::vector<void*>{a.data(), row.data(), column.data(), scale.data(), whole.data()}.data());
  for (const Maker maker : {Maker::off, Maker::tiles, Maker::joined}) {
    const auto kernel = make(nest, maker);
    ASSERT_TRUE(kernel->has_blocks());
    std::fill(part.begin(), part.end(), -7.0f);
    void* buffers[] = {a.data(), row.data(), column.data(), scale.data(), part.data()};
    for (int64_t r = 0; r < 37; r += 5) {
      for (int64_t c = 0; c < 90; c += 16)
        kernel->run_block(buffers, r, c, std::min<int64_t>(5, 37 - r), std::min<int64_t>(16, 90 - c));
    }
    for (size_t r = 0; r < 37; ++r) {
      EXPECT_EQ(std::memcmp(&part[r * 100], &whole[r * 100], 90 * sizeof(float)), 0) << maker_name(maker) << " " << r;
      for (size_t c = 90; c < 100; ++c) EXPECT_EQ(part[r * 100 + c], -7.0f);
    }
    kernel->run_block(buffers, 3, 4, 0, 5);
    EXPECT_EQ(sconce::testing::error_of([&] { kernel->run_block(buffers, 36, 0, 2, 1); }),
              "run_block: 2 x 1 elements from (36, 0) are not inside [37, 90]");
  }
}

TEST(Maker, ColumnsThatAreApartHaveNoBlocks) {
  Nest nest = NestText(kBlocks).nest;
  nest.buffers[0].strides = {1, 37};
  for (const Maker maker : {Maker::off, Maker::tiles, Maker::joined}) {
    const auto kernel = make(nest, maker);
    EXPECT_FALSE(kernel->has_blocks());
    EXPECT_EQ(sconce::testing::error_of([&] { kernel->run_block(nullptr, 0, 0, 1, 1); }),
              "run_block: the nest has no blocks: sizes [37, 90], or columns that are not adjacent");
  }
}

// Large results go past the caches, unless they are written over an operand.
TEST(Maker, LargeResultsAreStreamed) {
  const int64_t n = (int64_t{5} << 20) + 3;
  Nest nest = NestText(
                  "nest [1]\n  b0 f32 (1)\n  b1 f32 (1)\n  b2 f32 (1) written\n  %0 : f32 = mul.Tensor(b0, b1)\n"
                  "  %1 : f32 = add.Tensor(%0, b0, 1)\n  %2 : f32 = relu(%1)\n  b2 = %2\n")
                  .nest;
  nest.sizes[0] = n;
  std::vector<float> a(static_cast<size_t>(n)), b(a.size()), expected(a.size()), actual(a.size());
  for (size_t i = 0; i < a.size(); ++i) {
    a[i] = static_cast<float>(i % 977) - 400;
    b[i] = static_cast<float>(i % 31) - 11.25f;
  }
  make(nest, Maker::off)->run(std::vector<void*>{a.data(), b.data(), expected.data()}.data());
  for (const Maker maker : {Maker::tiles, Maker::joined}) {
    const auto kernel = make(nest, maker);
    std::fill(actual.begin(), actual.end(), 0.0f);
    kernel->run(std::vector<void*>{a.data(), b.data(), actual.data()}.data());
    EXPECT_EQ(std::memcmp(expected.data(), actual.data(), a.size() * sizeof(float)), 0) << maker_name(maker);
    std::vector<float> over = a;
    kernel->run(std::vector<void*>{over.data(), b.data(), over.data()}.data());
    EXPECT_EQ(std::memcmp(expected.data(), over.data(), a.size() * sizeof(float)), 0) << maker_name(maker);
  }
}

}  // namespace
}  // namespace sconce::codegen
