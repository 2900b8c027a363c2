#include "sconce/kernels/cpu/engine/scratch.h"

#include <gtest/gtest.h>

#include <thread>

#include "sconce/kernels/cpu/engine/scratch_memory.h"

#if defined(__GLIBC__) && !defined(SCONCE_NO_POOLS)
#include <malloc.h>

namespace sconce {
namespace {

// Large blocks of malloc.
size_t held() { return mallinfo2().hblkhd; }

TEST(Scratch, ThreadsGiveTheirMemoryBackWhenAskedTo) {
  constexpr int64_t kBytes = 40 << 20;  // more than malloc ever keeps for itself
  std::thread([] {
    const auto use = [](int64_t bytes) {
      Scratch scratch;
      std::byte* p = scratch.take<std::byte>(bytes);
      p[0] = p[bytes - 1] = std::byte{1};
    };
    const size_t before = held();
    use(kBytes);
    EXPECT_GE(held(), before + kBytes);  // it is kept
    give_back_scratch();
    {
      Scratch outer;
      outer.take<std::byte>(64);
      use(64);
      EXPECT_GE(held(), before + kBytes);  // some is in use
    }
    EXPECT_LT(held(), before + kBytes);
    use(kBytes);
    use(64);
    EXPECT_GE(held(), before + kBytes);  // once
  }).join();
}

}  // namespace
}  // namespace sconce
#endif
