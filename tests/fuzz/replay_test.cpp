// Replays what the fuzzers start from and what they once found.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "sconce/testing/source_tree.h"
#include "tests/fuzz/targets.h"

namespace sconce::fuzz {
namespace {

TEST(Fuzz, replays_every_corpus) {
  for (const Target& target : kTargets) {
    const std::string folder = testing::source_path("tests/fuzz/corpus/" + std::string(target.name));
    int inputs = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      SCOPED_TRACE(entry.path().string());
      std::ifstream file(entry.path(), std::ios::binary);
      const std::string bytes(std::istreambuf_iterator<char>(file), {});
      EXPECT_NO_THROW(target.run(bytes));
      ++inputs;
    }
    EXPECT_GT(inputs, 0) << folder;
  }
}

}  // namespace
}  // namespace sconce::fuzz
