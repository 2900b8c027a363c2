// An archive that is loaded and saved again holds the same records.
#include <gtest/gtest.h>

#include <filesystem>

#include "sconce/api/jit.h"
#include "sconce/serialization/file/records.h"
#include "sconce/testing/source_tree.h"
#include "sconce/testing/temporary_folder.h"

namespace sconce {
namespace {

// The name of the first record that differs; empty when all are equal.
std::string difference(const std::string& a, const std::string& b) {
  const Records first(FileBytes::map(a)), second(FileBytes::map(b));
  const auto &left = first.zip().records(), &right = second.zip().records();
  for (size_t i = 0; i < left.size() && i < right.size(); ++i) {
    const bool same = left[i].name == right[i].name && first.zip().read(left[i]) == second.zip().read(right[i]);
    if (!same) return std::string(left[i].name);
  }
  return left.size() == right.size() ? "" : "number of records";
}

std::string saved_twice(const jit::Module& module) {
  const testing::TemporaryFolder one, two;
  const std::string first = one.file("m.pt"), second = two.file("m.pt");
  module.save(first);
  jit::load(first).save(second);
  return difference(first, second);
}

TEST(SavedTwice, EveryRecordedArchive) {
  size_t saved = 0;
  for (const char* folder : {"programs", "programs_1_13", "exported", "formats"}) {
    const std::filesystem::path path = testing::source_path(std::string("tests/conformance/") + folder);
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      const std::string extension = entry.path().extension();
      if (extension != ".pt" && extension != ".pt2") continue;
      // view(dtype) has no name of its own in an archive, and is refused.
      if (entry.path().filename().string().starts_with("Arguments.")) continue;
      EXPECT_EQ(saved_twice(jit::load(entry.path())), "") << entry.path();
      ++saved;
    }
  }
  EXPECT_GT(saved, 100u);
}

TEST(SavedTwice, ManyFunctionsAndEntries) {
  constexpr int kFunctions = 1000, kEntries = 20000;
  std::string text;
  for (int i = 0; i < kFunctions; ++i) {
    const std::string n = std::to_string(i);
    text += "def f" + n + "(x: Tensor, n: int) -> Tensor:\n    y = torch.relu(x) + " + n + "\n    if n > " + n +
            ":\n        y = y * 2\n    return y\n";
  }
  text +=
      "class M(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
      "        self.table: Dict[str, int] = {str(i): i for i in range(" +
      std::to_string(kEntries) + ")}\n    def forward(self, x: Tensor) -> Tensor:\n";
  for (int i = 0; i < kFunctions; ++i) text += "        x = f" + std::to_string(i) + "(x, " + std::to_string(i) + ")\n";
  text += "        return x\n";
  jit::CompilationUnit unit = jit::compile(text);
  EXPECT_EQ(saved_twice(unit.module("M")), "");
}

}  // namespace
}  // namespace sconce
