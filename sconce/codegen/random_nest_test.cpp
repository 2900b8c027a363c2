// Random nests, every maker against op by op: all operators of the table that have loops, all dtypes, sizes around
// those of vectors, strides of every kind, results over operands, numbers of every kind.
#include <gtest/gtest.h>

#include "sconce/base/parallel.h"
#include "sconce/codegen/joined/machine_code.h"
#include "sconce/codegen/maker.h"
#include "sconce/codegen/test_random_nest.h"
#include "sconce/kernels/cpu/engine/cpu_level.h"

namespace sconce::codegen {
namespace {

struct Level {
  explicit Level(int level) : before_(cpu_level()) { detail::cached_cpu_level = level; }
  ~Level() { detail::cached_cpu_level = before_; }
  int before_;
};

void compare_makers(int seeds, uint32_t first) {
  const std::vector<Candidate> all = candidates();
  ASSERT_GT(all.size(), 260u);
  int failures = 0;
  for (int s = 0; s < seeds && failures < 3; ++s) {
    const RandomNest random(first + static_cast<uint32_t>(s), all);
    const Nest& nest = random.nest;
    std::vector<Memory> expected = random.fresh_memory();
    make(nest, Maker::off)->run(pointers(expected).data());
    for (const Maker maker : {Maker::tiles, Maker::joined}) {
      std::vector<Memory> actual = random.fresh_memory();
      const auto kernel = make(nest, maker);
      kernel->run(pointers(actual).data());
      const int64_t at = difference(nest, expected, actual, maker == Maker::joined);
      if (at < 0) continue;
      ++failures;
      ADD_FAILURE() << "seed " << first + static_cast<uint32_t>(s) << ", " << maker_name(maker) << ", byte " << at
                    << "\n"
                    << loops::to_string(nest) << kernel->to_string();
    }
  }
}

TEST(RandomNests, EveryMakerGivesTheBitsOfEager) { compare_makers(500, 1); }
TEST(RandomNestsSlow, ManyMore) { compare_makers(2000, 1000000); }

TEST(RandomNests, AtLowerLevels) {
  for (int level = 2; level < cpu_level(); ++level) {
    const Level lowered(level);
    compare_makers(300, 100000u * static_cast<uint32_t>(level));
  }
}

TEST(RandomNests, WithWideVectors) {
  if (cpu_level() < 4) GTEST_SKIP() << "needs AVX-512";
  highest_joined_level = 4;
  compare_makers(500, 1);
  highest_joined_level = 3;
}

TEST(RandomNests, WithThreads) {
  const int before = num_threads();
  set_num_threads(3);
  compare_makers(150, 900000);
  set_num_threads(before);
}

}  // namespace
}  // namespace sconce::codegen
