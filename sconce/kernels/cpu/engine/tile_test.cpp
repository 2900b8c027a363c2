#include "sconce/kernels/cpu/engine/tile.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "sconce/kernels/cpu/engine/conversion.h"
#include "sconce/tensor/dtype.h"

namespace sconce {
namespace {

uint16_t rounded_to_even(uint32_t u) {
  if ((u & 0x7fffffff) > 0x7f800000) return 0x7fc0;
  return static_cast<uint16_t>((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

// Every length up to some blocks, with and without NaNs among the elements; what follows the end stays as it is.
TEST(Tile, RoundsToBFloat16AtEveryLength) {
  const auto convert = conversion(tile_kernels(), DType::float32, DType::bfloat16);
  for (const uint32_t nan_every : {0u, 37u, 3u}) {
    for (int64_t n = 0; n <= 300; ++n) {
      std::vector<uint32_t> in(n);
      for (uint32_t i = 0; i < in.size(); ++i) {
        in[i] = (i + 1) * 2654435761u;
        if ((in[i] & 0x7f800000) == 0x7f800000) in[i] &= 0xff800000;
        if (i % 5 == 0) in[i] = (in[i] & 0xffff0000) | 0x8000;
        if (nan_every != 0 && i % nan_every == 1) in[i] = 0x7f800001u | (i & 1) << 31;
      }
      std::vector<uint16_t> out(n + 64, 0xabab);
      convert(out.data(), in.data(), n);
      for (int64_t i = 0; i < n; ++i) ASSERT_EQ(out[i], rounded_to_even(in[i])) << n << " " << i;
      for (int64_t i = n; i < n + 64; ++i) ASSERT_EQ(out[i], 0xabab) << n << " " << i;
    }
  }
}

TEST(Tile, KeepsEveryFloat16ThroughFloat32) {
  std::vector<uint16_t> in(65536), back(65536);
  for (uint32_t i = 0; i < in.size(); ++i) in[i] = static_cast<uint16_t>(i);
  std::vector<float> wide(65536);
  conversion(tile_kernels(), DType::float16, DType::float32)(wide.data(), in.data(), 65536);
  conversion(tile_kernels(), DType::float32, DType::float16)(back.data(), wide.data(), 65536);
  for (uint32_t i = 0; i < in.size(); ++i) {
    if ((i & 0x7fff) > 0x7c00) {
      ASSERT_TRUE(wide[i] != wide[i]) << i;
      ASSERT_GT(back[i] & 0x7fff, 0x7c00) << i;
    } else {
      ASSERT_EQ(back[i], i);
    }
  }
}

}  // namespace
}  // namespace sconce
