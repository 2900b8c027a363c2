// Passes keep the meaning of programs: every recorded program gives the same with each pass alone (after inlining,
// which gives them something to do), with the pipeline, and with everything, as without any.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "sconce/passes/passes.h"
#include "sconce/testing/conformance/case_kind.h"
#include "sconce/testing/source_tree.h"

namespace sconce::testing {
namespace {

class Environment {
 public:
  Environment(const char* name, const std::string& text) : name_(name) { setenv(name, text.c_str(), 1); }
  ~Environment() { unsetenv(name_); }
  Environment(const Environment&) = delete;

 private:
  const char* name_;
};

std::vector<std::string> variants() {
  std::vector<std::string> all{"-all,+inline_calls"};
  std::string every;
  for (const passes::PassInfo& pass : passes::all_passes()) {
    all.push_back(std::string("-all,+inline_calls,+") + pass.name);
    every += std::string(every.empty() ? "+" : ",+") + pass.name;
  }
  all.push_back("");
  all.push_back(every);
  return all;
}

// The runs of all cases of a file: passed or why not.
std::vector<std::string> run_file(const CaseFile& file, const CaseKind& kind, const std::string& passes) {
  const Environment environment("SCONCE_PASSES", passes);
  std::vector<std::string> results;
  for (size_t i = 1; i < file.size(); ++i) {
    if (!kind.is_case(file.at(i))) continue;
    const CaseResult result = kind.run(file, i, {});
    results.push_back(result.status == Status::passed ? "passed" : result.reason);
  }
  return results;
}

TEST(Passes, KeepTheMeaningOfPrograms) {
  const char* other = std::getenv("SCONCE_PROGRAMS");
  const std::string folder = other ? other : source_path("tests/conformance/programs");
  size_t runs = 0, passed = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".safetensors") continue;
    const CaseFile file = CaseFile::open(entry.path());
    const CaseKind* kind = kind_of(file);
    if (!kind) continue;
    const std::vector<std::string> expected = run_file(file, *kind, "-all");
    passed += static_cast<size_t>(std::count(expected.begin(), expected.end(), "passed"));
    for (const std::string& passes : variants()) {
      EXPECT_EQ(run_file(file, *kind, passes), expected) << entry.path().filename() << " with SCONCE_PASSES=" << passes;
      runs += expected.size();
    }
  }
  RecordProperty("passed", static_cast<int>(passed));
  EXPECT_GT(runs, 1000u);
}

}  // namespace
}  // namespace sconce::testing
