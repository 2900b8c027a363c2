// Operators on bools of other bytes than 0 and 1: Note [Bytes of bools]. The test conformance.any_bytes runs every
// recorded call.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "sconce/kernels/cpu/engine/sound_bools.h"
#include "sconce/ops.h"

namespace sconce {
namespace {

// The bytes repeated to `n` of them, as bools.
Tensor bools(const std::vector<uint8_t>& bytes, int64_t n) {
  const Tensor t = empty({n}, DType::bool_);
  for (int64_t i = 0; i < n; ++i) t.data<uint8_t>()[i] = bytes[static_cast<size_t>(i) % bytes.size()];
  return t;
}
std::vector<uint8_t> bytes_of(const Tensor& t) {
  const Tensor dense = contiguous(t);
  return {dense.data<uint8_t>(), dense.data<uint8_t>() + dense.numel()};
}

TEST(SoundBools, AreCopiedOnlyForOtherBytes) {
  const Tensor sound = bools({0, 1}, 70), other = bools({0, 2, 255}, 70);
  EXPECT_TRUE(sound_bools(sound).is_same(sound));
  EXPECT_EQ(bytes_of(sound_bools(other)), bytes_of(bools({0, 1, 1}, 70)));
  EXPECT_EQ(bytes_of(clone(other)), bytes_of(other));  // moved as they are
  const Tensor number = ones({2});
  EXPECT_TRUE(sound_bools(number).is_same(number));
}

// Of one element, of less than a vector, of vectors and a rest.
TEST(SoundBools, AreReadByLoops) {
  for (int64_t n : {1, 7, 131, 3000}) {
    const Tensor a = bools({2, 0, 255, 1}, n), b = bools({4, 1, 0, 1}, n);
    const Tensor x = bools({1, 0, 1, 1}, n), y = bools({1, 1, 0, 1}, n);
    EXPECT_EQ(bytes_of(logical_not(a)), bytes_of(logical_not(x)));
    EXPECT_EQ(bytes_of(bitwise_not(a)), bytes_of(bitwise_not(x)));
    EXPECT_EQ(bytes_of(eq(a, b)), bytes_of(eq(x, y)));
    EXPECT_EQ(bytes_of(logical_xor(a, b)), bytes_of(logical_xor(x, y)));
    EXPECT_EQ(bytes_of(bitwise_and(a, b)), bytes_of(bitwise_and(x, y)));
    EXPECT_EQ(bytes_of(maximum(a, b)), bytes_of(maximum(x, y)));
    EXPECT_EQ(bytes_of(add(a, b)), bytes_of(add(x, y)));
    EXPECT_EQ(bytes_of(mul(a, b)), bytes_of(mul(x, y)));
    EXPECT_EQ(bytes_of(where(a, b, y)), bytes_of(where(x, y, y)));
    for (DType to_type : {DType::uint8, DType::int64, DType::bfloat16, DType::float64, DType::complex64, DType::uint16})
      EXPECT_TRUE(equal(to(a, to_type), to(x, to_type)));
    EXPECT_EQ(item_of(sum(a)).to_int(), item_of(sum(x)).to_int());
    EXPECT_EQ(bytes_of(any(a)), bytes_of(any(x)));
    EXPECT_EQ(bytes_of(all(a)), bytes_of(all(x)));
    EXPECT_EQ(bytes_of(prod(a, DType::uint8)), bytes_of(prod(x, DType::uint8)));
  }
}

TEST(SoundBools, AreComparedAndOrdered) {
  const Tensor a = bools({2, 0, 255, 1, 0, 4}, 40), x = bools({1, 0, 1, 1, 0, 1}, 40);
  EXPECT_TRUE(equal(a, x));
  const auto [values, order] = sort(a);
  const auto [wanted, places] = sort(x);
  EXPECT_TRUE(equal(values, wanted));
  EXPECT_TRUE(equal(order, places));
  EXPECT_EQ(std::get<0>(_unique2(a)).numel(), 2);
  EXPECT_TRUE(equal(std::get<2>(unique_consecutive(a, false, true)), std::get<2>(unique_consecutive(x, false, true))));
  EXPECT_TRUE(equal(nonzero(a), nonzero(x)));
  EXPECT_EQ(masked_select(ones({40}), a).numel(), masked_select(ones({40}), x).numel());
  const Tensor index = zeros({40}, DType::int64);
  EXPECT_EQ(bytes_of(scatter_reduce(bools({8}, 1), 0, index, bools({2, 4, 1}, 40), "prod")), bytes_of(bools({1}, 1)));
  EXPECT_EQ(bytes_of(scatter_add(bools({0}, 1), 0, index, a)), bytes_of(bools({1}, 1)));
}

}  // namespace
}  // namespace sconce
