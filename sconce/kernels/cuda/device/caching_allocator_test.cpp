// The caching allocator: sizes, streams, joining, and what happens when memory ends.
#include "sconce/kernels/cuda/device/caching_allocator.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "sconce/kernels/cuda/device/context.h"
#include "sconce/kernels/cuda/device/launch.h"
#include "sconce/kernels/cuda/testing/test_driver.h"
#include "sconce/testing/error_of.h"

namespace sconce::cuda {
namespace {

using sconce::testing::error_of;
using testing::TestDriver;

constexpr Device kCuda{DeviceType::cuda, 0};
constexpr size_t kMiB = size_t{1} << 20;

TEST(CachingAllocator, SmallBlocksShareASegment) {
  TestDriver driver;
  const DeviceBlock a = allocate_block(1, kCuda), b = allocate_block(600, kCuda);
  EXPECT_EQ(static_cast<char*>(b.data) - static_cast<char*>(a.data), 512);
  EXPECT_EQ(driver.calls("cuMemAlloc_v2"), 1);
  EXPECT_EQ(driver.taken(), 2 * kMiB);
  const MemoryStatistics s = memory_statistics(kCuda);
  EXPECT_EQ(s.allocated, 512u + 1024u);
  EXPECT_EQ(s.requested, 601u);
  EXPECT_EQ(s.reserved, 2 * kMiB);
  release_block(a.block);
  release_block(b.block);
  EXPECT_EQ(memory_statistics(kCuda).allocated, 0u);
  EXPECT_EQ(driver.taken(), 2 * kMiB);  // kept
  const auto picture = memory_picture(kCuda);
  ASSERT_EQ(picture.size(), 1u);
  EXPECT_EQ(picture[0].parts.size(), 1u);  // joined again
  empty_cache(kCuda);
  EXPECT_EQ(driver.taken(), 0u);
}

TEST(CachingAllocator, SegmentsHavePyTorchsSizes) {
  TestDriver driver;
  const auto taken_by = [&](size_t bytes) {
    const DeviceBlock block = allocate_block(bytes, kCuda);
    const size_t taken = driver.taken();
    release_block(block.block);
    empty_cache(kCuda);
    return taken;
  };
  EXPECT_EQ(taken_by(kMiB), 2 * kMiB);
  EXPECT_EQ(taken_by(kMiB + 1), 20 * kMiB);
  EXPECT_EQ(taken_by(10 * kMiB - 512), 20 * kMiB);
  EXPECT_EQ(taken_by(10 * kMiB), 10 * kMiB);
  EXPECT_EQ(taken_by(11 * kMiB + 1), 12 * kMiB);
}

TEST(CachingAllocator, TheBestFitIsTaken) {
  TestDriver driver;
  const DeviceBlock large = allocate_block(64 * kMiB, kCuda), medium = allocate_block(32 * kMiB, kCuda);
  release_block(large.block);
  release_block(medium.block);
  const DeviceBlock again = allocate_block(30 * kMiB, kCuda);
  EXPECT_EQ(again.data, medium.data);
  EXPECT_EQ(driver.calls("cuMemAlloc_v2"), 2);
  release_block(again.block);
}

TEST(CachingAllocator, ABlockStaysWithItsStream) {
  TestDriver driver;
  const DeviceBlock a = allocate_block(1000, kCuda);
  release_block(a.block);
  set_current_stream(kCuda, pool_stream(kCuda, false));
  const DeviceBlock b = allocate_block(1000, kCuda);
  EXPECT_NE(a.data, b.data);
  set_current_stream(kCuda, nullptr);
  const DeviceBlock c = allocate_block(1000, kCuda);
  EXPECT_EQ(a.data, c.data);
  release_block(b.block);
  release_block(c.block);
}

TEST(CachingAllocator, RecordedStreamsAreWaitedFor) {
  TestDriver driver;
  const CUstream other = pool_stream(kCuda, false);
  const DeviceBlock a = allocate_block(1000, kCuda);
  cuda::driver().cuMemsetD8Async(reinterpret_cast<CUdeviceptr>(a.data), 1, 1000, other);
  record_stream(a.block, other);
  record_stream(a.block, other);
  record_stream(a.block, default_stream(kCuda));  // its own
  release_block(a.block);
  EXPECT_EQ(driver.calls("cuEventRecord"), 1);
  const DeviceBlock b = allocate_block(1000, kCuda);
  EXPECT_NE(a.data, b.data);  // the other stream has not come so far
  driver.run(other);
  const DeviceBlock c = allocate_block(1000, kCuda);
  EXPECT_EQ(a.data, c.data);
  release_block(b.block);
  release_block(c.block);
  EXPECT_EQ(memory_picture(kCuda)[0].parts.size(), 1u);
}

TEST(CachingAllocator, OutOfMemoryGivesCachedSegmentsBackAndTriesAgain) {
  TestDriver driver(1, 100 * kMiB);
  const DeviceBlock a = allocate_block(60 * kMiB, kCuda);
  release_block(a.block);
  const DeviceBlock b = allocate_block(80 * kMiB, kCuda);
  EXPECT_EQ(driver.taken(), 80 * kMiB);
  EXPECT_EQ(memory_statistics(kCuda).retries, 1u);
  const DeviceBlock small = allocate_block(5, kCuda);
  EXPECT_EQ(
      error_of([] { allocate_block(40 * kMiB, kCuda); }),
      "CUDA out of memory. Tried to allocate 40.00 MiB. GPU 0 has a total capacity of 100.00 MiB of which 18.00 MiB is "
      "free. Of the allocated memory 80.00 MiB is allocated by Sconce, and 2.00 MiB is reserved by Sconce but "
      "unallocated.");
  EXPECT_EQ(memory_statistics(kCuda).failures, 1u);
  release_block(allocate_block(10 * kMiB, kCuda).block);  // the next call works
  release_block(b.block);
  release_block(small.block);
}

TEST(CachingAllocator, ResidualsOfOtherStreamsAreWaitedForWhenMemoryEnds) {
  TestDriver driver(1, 100 * kMiB);
  const CUstream other = pool_stream(kCuda, false);
  const DeviceBlock a = allocate_block(80 * kMiB, kCuda);
  cuda::driver().cuMemsetD8Async(reinterpret_cast<CUdeviceptr>(a.data), 1, 1000, other);
  record_stream(a.block, other);
  release_block(a.block);
  release_block(allocate_block(90 * kMiB, kCuda).block);
  EXPECT_EQ(driver.waiting(), 0u);
}

TEST(CachingAllocator, ALimitIsKept) {
  TestDriver driver(1, 100 * kMiB);
  set_memory_fraction(kCuda, 0.5);
  EXPECT_EQ(
      error_of([] { allocate_block(60 * kMiB, kCuda); }),
      "CUDA out of memory. Tried to allocate 60.00 MiB. GPU 0 has a total capacity of 100.00 MiB of which 100.00 MiB "
      "is "
      "free. 50.00 MiB is the limit that was set. Of the allocated memory 0 bytes is allocated by Sconce, and 0 bytes "
      "is reserved by Sconce but unallocated.");
  release_block(allocate_block(50 * kMiB, kCuda).block);
  EXPECT_EQ(error_of([] { set_memory_fraction(kCuda, 0); }),
            "set_per_process_memory_fraction: fraction must be in (0, 1], got 0");
}

TEST(CachingAllocator, ImpossibleSizesAreOutOfMemory) {
  TestDriver driver;
  EXPECT_ERROR(allocate_block(SIZE_MAX, kCuda), "CUDA out of memory. Tried to allocate 17179869184.00 GiB");
  EXPECT_ERROR(allocate_block(size_t{1} << 62, kCuda), "CUDA out of memory");
  EXPECT_EQ(driver.taken(), 0u);
}

TEST(CachingAllocator, OtherErrorsOfTheDriverAreNotOutOfMemory) {
  TestDriver driver;
  driver.fail("cuMemAlloc_v2", 1);
  EXPECT_EQ(error_of([] { allocate_block(1, kCuda); }), "cuMemAlloc: CUDA_ERROR_INVALID_VALUE: invalid argument");
  release_block(allocate_block(1, kCuda).block);
}

TEST(CachingAllocator, EventsThatFailAreWaitedForInstead) {
  TestDriver driver;
  const CUstream other = pool_stream(kCuda, false);
  const DeviceBlock a = allocate_block(1000, kCuda);
  cuda::driver().cuMemsetD8Async(reinterpret_cast<CUdeviceptr>(a.data), 1, 1000, other);
  record_stream(a.block, other);
  driver.fail("cuEventRecord", 1);
  release_block(a.block);
  EXPECT_EQ(driver.waiting(), 0u);
  const DeviceBlock b = allocate_block(1000, kCuda);
  EXPECT_EQ(a.data, b.data);
  release_block(b.block);
}

TEST(CachingAllocator, ScratchComesBack) {
  TestDriver driver;
  void* first = scratch(kCuda, 100).data();
  EXPECT_EQ(scratch(kCuda, 100).data(), first);
  EXPECT_EQ(memory_statistics(kCuda).allocated, 0u);
}

// Blocks never overlap, keep their bytes, and all memory is one free block a segment in the end.
TEST(CachingAllocator, RandomUseKeepsBlocksApart) {
  TestDriver driver(1, 400 * kMiB);
  driver.is_late = false;
  const CUstream streams[] = {nullptr, pool_stream(kCuda, false), pool_stream(kCuda, false)};
  struct Held {
    DeviceBlock block;
    size_t bytes;
    unsigned char mark;
  };
  std::vector<Held> held;
  std::mt19937 random(1);
  for (int step = 0; step < 4000; ++step) {
    if (held.size() < 40 && random() % 5 < 3) {
      set_current_stream(kCuda, streams[random() % 3]);
      const size_t bytes = random() % 3 ? random() % 5000 + 1 : random() % (4 * kMiB) + 1;
      const auto mark = static_cast<unsigned char>(random());
      const DeviceBlock block = allocate_block(bytes, kCuda);
      std::memset(block.data, mark, bytes);  // memory of the test driver is the host's
      held.push_back({block, bytes, mark});
    } else if (!held.empty()) {
      std::swap(held[random() % held.size()], held.back());
      const Held h = held.back();
      held.pop_back();
      const auto* data = static_cast<const unsigned char*>(h.block.data);
      ASSERT_TRUE(data[0] == h.mark && std::memcmp(data, data + 1, h.bytes - 1) == 0) << step;
      if (random() % 4 == 0) record_stream(h.block.block, pool_stream(kCuda, true));
      release_block(h.block.block);
      if (random() % 200 == 0) empty_cache(kCuda);
    }
  }
  for (const Held& h : held) release_block(h.block.block);
  EXPECT_EQ(memory_statistics(kCuda).allocated, 0u);
  EXPECT_EQ(memory_statistics(kCuda).requested, 0u);
  EXPECT_EQ(memory_statistics(kCuda).reserved, driver.taken());
  empty_cache(kCuda);
  EXPECT_EQ(driver.taken(), 0u);
  EXPECT_EQ(driver.live_allocations(), 0u);
  set_current_stream(kCuda, nullptr);
}

}  // namespace
}  // namespace sconce::cuda
