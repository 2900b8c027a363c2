#include "sconce/dispatch/records/op_family.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

#include "sconce/dispatch/registry.h"

namespace sconce {
namespace {

// Two stored blocks of deflate, "\0one\0" and "two\0".
constexpr char kStored[] =
    "\0\5\0\372\377"
    "\0one\0"
    "\1\4\0\373\377"
    "two";
constexpr uint32_t kStoredSize = sizeof(kStored), kTextSize = 9;

TEST(OpFamily, inflates_texts_once_for_all_threads) {
  static char place[kTextSize];
  static PackedTexts texts{kStored, kStoredSize, kTextSize, place};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([] {
      unpack_texts(texts);
      EXPECT_STREQ(place + 1, "one");
      EXPECT_STREQ(place + 5, "two");
    });
  }
  for (std::thread& t : threads) t.join();
  place[1] = 'O';
  unpack_texts(texts);
  EXPECT_STREQ(place + 1, "One");
}

TEST(OpFamily, refuses_texts_of_another_size) {
  char place[kTextSize + 1];
  PackedTexts longer{kStored, kStoredSize, kTextSize + 1, place};
  EXPECT_ANY_THROW(unpack_texts(longer));
  PackedTexts shorter{kStored, kStoredSize, kTextSize - 1, place};
  EXPECT_ANY_THROW(unpack_texts(shorter));
  PackedTexts cut{kStored, kStoredSize - 1, kTextSize, place};
  EXPECT_ANY_THROW(unpack_texts(cut));
}

void kernel(const Op&, KeySet, Value*, Value*) {}
void other(const Op&, KeySet, Value*, Value*) {}
void recorder(const Op&, KeySet, Value*, Value*) {}

TEST(OpFamily, makes_operators_of_records) {
  static constinit Op ops[2]{};
  static char place[kTextSize], schema_place[kTextSize];
  static PackedTexts texts{kStored, kStoredSize, kTextSize, place},
      schemas{kStored, kStoredSize, kTextSize, schema_place};
  const OpRecord records[] = {
      {SCONCE_BOXED_KERNEL(kernel), 3, 1, 0, 1, 5, 0, 0, 0, 0, 0, 12, 0, Gradient::through, 7, 1, false, false},
      {SCONCE_BOXED_KERNEL(kernel), 0, 3, 6, 5, 0, 1, 0, 0, 0, 0, 34, -1, Gradient::none, 0, 0, true, true}};
  const OpKernel kernels[] = {{1, Key::sparse, SCONCE_BOXED_KERNEL(other)}};
  const OpFamily family{"ops/test.toml",
                        ops,
                        records,
                        2,
                        "\0a\0a_\0b",
                        nullptr,
                        nullptr,
                        nullptr,
                        kernels,
                        1,
                        SCONCE_BOXED_KERNEL(recorder),
                        &schemas,
                        &texts,
                        unpack_texts};
  make_ops(family);
  EXPECT_EQ(ops[0].qualified_name(), "a");
  EXPECT_EQ(ops[0].origin(), "ops/test.toml:12");
  EXPECT_EQ(ops[0].keys_with_kernel(), KeySet({Key::cpu, Key::meta}));
  EXPECT_EQ(ops[0].kernels[0], SCONCE_BOXED_KERNEL(kernel));
  EXPECT_EQ(ops[0].info.traits, 3u);
  EXPECT_STREQ(ops[0].schema_text(), "one");
  EXPECT_STREQ(ops[0].texts().body, "two");
  EXPECT_EQ(ops[0].texts().derivatives, nullptr);
  EXPECT_EQ(ops[1].qualified_name(), "a_.b");
  EXPECT_EQ(ops[1].origin(), "ops/test.toml:34");
  EXPECT_EQ(ops[1].info.functional, -1);
  EXPECT_EQ(ops[1].keys_with_kernel(), KeySet({Key::cpu, Key::meta, Key::cuda, Key::sparse, Key::autograd}));
  EXPECT_NE(ops[1].kernels[static_cast<int>(Key::meta)], SCONCE_BOXED_KERNEL(kernel));
  EXPECT_EQ(ops[1].kernels[static_cast<int>(Key::sparse)], SCONCE_BOXED_KERNEL(other));
  EXPECT_EQ(ops[1].kernels[static_cast<int>(Key::autograd)], SCONCE_BOXED_KERNEL(recorder));
  EXPECT_STREQ(ops[1].texts().derivatives, "one");
}

// Operators are there before initialisers of programs run.
const bool made_before_us = [] {
  const Op* op = find_op("aten::add.Tensor");
  return op != nullptr && op->has_kernel(Key::cpu) && std::strcmp(op->info.overload, "Tensor") == 0;
}();
TEST(OpFamily, is_made_before_initialisers_of_programs) { EXPECT_TRUE(made_before_us); }

}  // namespace
}  // namespace sconce
