// Memory of the caller, items and tuples, as a program outside of the library sees them.
#include "sconce/api/from_blob.h"

#include <gtest/gtest.h>

#include "sconce/api/items.h"
#include "sconce/ops.h"
#include "sconce/testing/error_of.h"

namespace sconce {
namespace {

TEST(FromBlob, SharesTheMemory) {
  std::vector<float> memory{1, 2, 3, 4, 5, 6};
  const Tensor x = from_blob(memory.data(), {2, 3});
  EXPECT_EQ(x.data<float>(), memory.data());
  memory[5] = 7;
  EXPECT_EQ(x.sum().item<float>(), 22);
  x.fill_(1);
  EXPECT_EQ(memory[0], 1);
  const Tensor columns = from_blob(memory.data(), {3, 2}, {1, 3});
  EXPECT_TRUE(equal(columns, x.t()));
  int64_t whole[] = {1, 2};
  EXPECT_EQ(from_blob(whole, {2}, DType::int64).sum().item<int64_t>(), 3);
  EXPECT_EQ(from_blob(nullptr, {0, 4}).numel(), 0);
}

TEST(FromBlob, TheDeleterIsCalledOnceWithTheMemory) {
  float memory[4] = {};
  std::vector<void*> deleted;
  {
    Tensor x = from_blob(memory, {4}, [&](void* data) { deleted.push_back(data); });
    const Tensor view = x.narrow(0, 1, 2);
    x = Tensor();
    EXPECT_TRUE(deleted.empty());
  }
  EXPECT_EQ(deleted, std::vector<void*>{memory});
}

TEST(FromBlob, WrongMemoryIsRefused) {
  float memory[4] = {};
  bool called = false;
  const auto note = [&](void*) { called = true; };
  EXPECT_ERROR(from_blob(nullptr, {2}, note), "data is null, and the sizes [2] need 8 bytes");
  EXPECT_ERROR(from_blob(reinterpret_cast<char*>(memory) + 1, {1}, note), "not aligned for elements of 4 bytes");
  EXPECT_ERROR(from_blob(memory, {-1}, note), "there is no size -1");
  EXPECT_ERROR(from_blob(memory, {2}, {-1}, note), "strides must not be negative");
  EXPECT_ERROR(from_blob(memory, {2, 2}, {1}, note), "2 sizes and 1 strides");
  EXPECT_ERROR(from_blob(memory, {INT64_MAX, INT64_MAX}, note), "too large");
  EXPECT_ERROR(from_blob(memory, {INT64_MAX}, {INT64_MAX}, note), "too large");
  EXPECT_FALSE(called);
}

TEST(Item, IsANumberOfCpp) {
  EXPECT_EQ(full({}, 2.5).item<float>(), 2.5F);
  EXPECT_EQ(full({}, 3, DType::int64).item<uint8_t>(), 3);
  EXPECT_EQ(full({}, true, DType::bool_).item<bool>(), true);
  EXPECT_EQ((full({}, 2.5).item<std::complex<float>>()), std::complex<float>(2.5F, 0));
  EXPECT_ERROR(full({}, 300, DType::int64).item<uint8_t>(), "item: 300 does not fit an integer of 1 bytes");
  EXPECT_ERROR(full({}, -1, DType::int64).item<uint64_t>(), "item: -1 does not fit");
  EXPECT_ERROR(ones({2}).item<float>(), "");
}

TEST(Items, OfTuplesAndLists) {
  const Value pair = jit::to_value(std::tuple(int64_t{1}, std::string("two")));
  EXPECT_EQ(jit::get<int64_t>(pair, 0), 1);
  EXPECT_EQ(jit::get<std::string>(pair, 1), "two");
  EXPECT_EQ(jit::get<double>(jit::to_value(std::vector<double>{1.5}), 0), 1.5);
  EXPECT_ERROR(jit::get<int64_t>(pair, 2), "there is no item 2 in a");
  EXPECT_ERROR(jit::get<int64_t>(Value(int64_t{1}), 0), "expected a tuple or a list");
}

}  // namespace
}  // namespace sconce
