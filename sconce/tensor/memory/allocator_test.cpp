#include "sconce/tensor/memory/allocator.h"

#include <gtest/gtest.h>

#include <cstring>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "sconce/base/error.h"
#include "sconce/tensor/memory/allocator_stats.h"

namespace sconce {
namespace {

std::vector<size_t> interesting_sizes() {
  std::vector<size_t> sizes = {0, 1, 63, 64, 65, 960, 1023, 1024, 1025};
  for (size_t power = 2048; power <= size_t{8} << 20; power *= 2) {
    for (const size_t n : {power - 1, power, power + 1, power + power / 4, power + power / 4 + 1}) sizes.push_back(n);
  }
  return sizes;
}

TEST(Allocator, BlocksAreLargeEnoughAndAligned) {
  for (const size_t bytes : interesting_sizes()) {
    const Block block = allocate_block(bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block.data) % 64, 0u) << bytes;
    EXPECT_GE(block_capacity(block.size_class), bytes);
    if (bytes > 1024) {
      EXPECT_LE(block_capacity(block.size_class), bytes + bytes / 4 + 1) << bytes;  // at most a quarter is lost
    }
    std::memset(block.data, 0xab, bytes);
    free_block(block.data, block.size_class);
  }
}

TEST(Allocator, ClassesGrowWithSize) {
  size_t last = 0;
  for (size_t bytes = 1; bytes < 100000; bytes += 7) {
    const Block block = allocate_block(bytes);
    EXPECT_GE(block_capacity(block.size_class), last);
    last = block_capacity(block.size_class);
    free_block(block.data, block.size_class);
  }
}

TEST(Allocator, TooLarge) {
  EXPECT_THROW(allocate_block(SIZE_MAX), Error);
  EXPECT_THROW(allocate_block(size_t{1} << 60), Error);
#ifndef SCONCE_NO_POOLS  // sanitizers stop the program instead
  EXPECT_THROW(allocate_block(size_t{1} << 46), Error);
#endif
}

// Live blocks never overlap: each is filled with its own pattern and checked at its end.
TEST(Allocator, BlocksDoNotOverlap) {
  struct Live {
    Block block;
    size_t bytes;
    uint8_t pattern;
  };
  std::vector<Live> live;
  uint32_t random = 1;
  const auto next = [&] { return random = random * 1664525 + 1013904223; };
  const auto check_and_free = [](const Live& l) {
    const auto* p = static_cast<const uint8_t*>(l.block.data);
    EXPECT_TRUE(p[0] == l.pattern && p[l.bytes / 2] == l.pattern && p[l.bytes - 1] == l.pattern);
    free_block(l.block.data, l.block.size_class);
  };
  for (int i = 0; i < 20000; ++i) {
    if (live.size() > 300 || (!live.empty() && next() >> 16 & 1)) {
      const size_t at = next() % live.size();
      check_and_free(live[at]);
      live[at] = live.back();
      live.pop_back();
    } else {
      const size_t bytes = 1 + (next() >> 8) % (next() >> 30 ? 2000 : 40000);
      Live l{allocate_block(bytes), bytes, static_cast<uint8_t>(next() >> 24)};
      std::memset(l.block.data, l.pattern, bytes);
      live.push_back(l);
    }
  }
  for (const Live& l : live) check_and_free(l);
}

#ifndef SCONCE_NO_POOLS

TEST(Allocator, FreedBlocksComeBack) {
  for (const size_t bytes : {64, 1000, 5000, 700000, 3000000}) {
    const Block first = allocate_block(bytes);
    free_block(first.data, first.size_class);
    const Block second = allocate_block(bytes);
    EXPECT_EQ(first.data, second.data) << bytes;
    free_block(second.data, second.size_class);
  }
}

TEST(Allocator, BlocksOfAnEndedThreadComeBack) {
  constexpr size_t kBytes = 333333;
  void* data = nullptr;
  std::thread([&] {
    const Block block = allocate_block(kBytes);
    data = block.data;
    free_block(block.data, block.size_class);
  }).join();
  std::vector<Block> blocks;
  bool found = false;
  for (int i = 0; i < 4; ++i) {
    blocks.push_back(allocate_block(kBytes));
    found |= blocks.back().data == data;
  }
  EXPECT_TRUE(found);
  for (const Block& b : blocks) free_block(b.data, b.size_class);
}

TEST(Allocator, TheLargeCacheHasALimit) {
  constexpr size_t kBytes = size_t{5} << 20;
  set_cache_limit(0);
  const Block block = allocate_block(kBytes);
  free_block(block.data, block.size_class);  // goes to the system
  set_cache_limit(size_t{12} << 20);
  std::vector<Block> blocks;
  for (int i = 0; i < 4; ++i) blocks.push_back(allocate_block(kBytes));
  for (const Block& b : blocks) free_block(b.data, b.size_class);
  // Two fit: the ones that were freed last.
  const Block again = allocate_block(kBytes);
  const Block once_more = allocate_block(kBytes);
  EXPECT_EQ(again.data, blocks[3].data);
  EXPECT_EQ(once_more.data, blocks[2].data);
  free_block(again.data, again.size_class);
  free_block(once_more.data, once_more.size_class);
  set_cache_limit(0);
  set_cache_limit(size_t{1} << 30);
}

#endif  // SCONCE_NO_POOLS

TEST(Allocator, MemoryCanBeReleased) {
  std::vector<Block> blocks;
  for (const size_t bytes : interesting_sizes()) blocks.push_back(allocate_block(bytes));
  for (const Block& b : blocks) free_block(b.data, b.size_class);
  release_cached_memory();
  for (const size_t bytes : interesting_sizes()) {
    const Block block = allocate_block(bytes);
    std::memset(block.data, 1, bytes);
    free_block(block.data, block.size_class);
  }
  release_cached_memory();
  release_cached_memory();
}

// Blocks travel: every thread frees what another one allocated.
TEST(Allocator, Threads) {
  constexpr int kThreads = 4, kRounds = 200, kBlocks = 50;
  std::mutex mutex;
  std::vector<std::pair<Block, size_t>> shared;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < kRounds; ++round) {
        std::vector<std::pair<Block, size_t>> mine;
        for (int i = 0; i < kBlocks; ++i) {
          const size_t bytes = 8 + static_cast<size_t>((i * 131 + round * 17 + t * 7) % 3000);
          const Block block = allocate_block(bytes);
          std::memset(block.data, static_cast<int>(bytes & 0xff), bytes);
          mine.emplace_back(block, bytes);
        }
        {
          std::lock_guard lock(mutex);
          mine.swap(shared);
        }
        for (const auto& [block, bytes] : mine) {
          const auto* p = static_cast<const uint8_t*>(block.data);
          if (p[0] != (bytes & 0xff) || p[bytes - 1] != (bytes & 0xff)) ADD_FAILURE() << "a block was overwritten";
          free_block(block.data, block.size_class);
        }
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& [block, bytes] : shared) free_block(block.data, block.size_class);
}

TEST(Allocator, ManyShortThreads) {
  for (int i = 0; i < 50; ++i) {
    std::thread([] {
      std::vector<Block> blocks;
      for (int k = 0; k < 300; ++k) blocks.push_back(allocate_block(static_cast<size_t>(k) * 16));
      for (const Block& b : blocks) free_block(b.data, b.size_class);
    }).join();
  }
}

TEST(Allocator, SaysHowMuchItHeld) {
  release_cached_memory();
  reset_allocator_peak();
  const size_t before = allocator_stats().held;
  constexpr size_t kBytes = size_t{8} << 20;
  const Block a = allocate_block(kBytes), b = allocate_block(kBytes);
  free_block(a.data, a.size_class);
  free_block(b.data, b.size_class);
  EXPECT_GE(allocator_stats().peak, before + 2 * kBytes);
  release_cached_memory();
  EXPECT_EQ(allocator_stats().held, before);
  reset_allocator_peak();
  EXPECT_EQ(allocator_stats().peak, before);
}

}  // namespace
}  // namespace sconce
