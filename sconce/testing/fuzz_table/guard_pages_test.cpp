#include "sconce/testing/fuzz_table/guard_pages.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <cstring>

#include "sconce/dispatch/registry.h"
#include "sconce/testing/fuzz_table/hostile_values.h"

namespace sconce::testing {
namespace {

volatile char seen;

// Reads outside of a block, as any program would: AddressSanitizer turns the signal into a report of its own otherwise.
void read(const char* at) {
  std::signal(SIGSEGV, SIG_DFL);
  seen = *at;
}

TEST(GuardPages, EndsAndBeginningsAreGuarded) {
  auto* last = static_cast<char*>(guarded_allocate(20, 4, Placement::end));
  auto* first = static_cast<char*>(guarded_allocate(20, 4, Placement::begin));
  seen = last[19];
  seen = first[0];
  EXPECT_EXIT(read(last + 20), ::testing::KilledBySignal(SIGSEGV), "");
  EXPECT_EXIT(read(first - 1), ::testing::KilledBySignal(SIGSEGV), "");
  EXPECT_EXIT(
      {
        first[20] = 1;
        guarded_free(first);
      },
      ::testing::KilledBySignal(SIGABRT), "over the end");
  EXPECT_EXIT(
      {
        last[-1] = 1;
        guarded_free(last);
      },
      ::testing::KilledBySignal(SIGABRT), "below the beginning");
  guarded_free(first);
  guarded_free(last);
  EXPECT_EXIT(guarded_free(last), ::testing::KilledBySignal(SIGABRT), "twice");
}

TEST(GuardPages, LargeBlocks) {
  const size_t bytes = kLargestSlot + 1000;
  auto* large = static_cast<char*>(guarded_allocate(bytes, 64, Placement::end));
  std::memset(large, 1, bytes);
  EXPECT_EXIT(read(large + bytes + 63), ::testing::KilledBySignal(SIGSEGV), "");
  guarded_free(large);
  EXPECT_EQ(guarded_allocate(kLargestGuarded + 1, 64, Placement::end), nullptr);
}

TEST(HostileValues, FollowFromTheSeed) {
  const Schema& schema = find_op("aten::_embedding_bag")->schema();
  const auto text = [&](uint64_t seed) {
    std::string all;
    for (const Value& v : HostileValues(seed).arguments(schema)) all += describe(v) + "\n";
    return all;
  };
  EXPECT_EQ(text(7), text(7));
  EXPECT_NE(text(7), text(8));
}

}  // namespace
}  // namespace sconce::testing
