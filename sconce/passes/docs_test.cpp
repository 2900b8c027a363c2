// docs/passes.md is passes.def and the comments that the passes begin with. SCONCE_ACCEPT=1 writes it anew.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "sconce/passes/passes.h"
#include "sconce/testing/source_tree.h"

namespace sconce::passes {
namespace {

std::string read(const std::string& path) {
  std::ifstream in(testing::source_path(path));
  return {std::istreambuf_iterator<char>(in), {}};
}

// The comment at the top of the pass's file, without the file's name; empty when it has no file of its own.
std::string comment_of(const std::string& name) {
  const std::vector<std::string> sources = testing::files_below("sconce/passes", ".cpp");
  const auto source = std::ranges::find(sources, name, testing::stem_of);
  if (source == sources.end()) return "";
  std::ifstream in(*source);
  std::string comment;
  for (std::string line; std::getline(in, line) && line.starts_with("//");) {
    line.erase(0, line.starts_with("// ") ? 3 : 2);
    const std::string title = "passes/" + name + ".cpp";
    if (line.starts_with(title)) line.erase(0, title.size() + (line.size() > title.size() ? 2 : 0));
    if (!line.empty()) comment += line + "\n";
  }
  return comment;
}

std::string page() {
  std::string text =
      "# Passes\n\n"
      "A pass is a function from graph to \"did it change\". `sconce/passes/passes.def` lists them; those of the "
      "pipeline\n"
      "run in this order before a function is first called, the others are asked for by name (`sconce ir FILE --pass "
      "NAME`).\n"
      "`SCONCE_LOGS=passes` prints what each changes, `SCONCE_PASSES=-peephole,+refine_types` leaves some out and adds "
      "others,\n"
      "`SCONCE_PASS_LIMIT=7` stops after seven, to find the one that breaks something.\n\n"
      "`freeze` (`sconce/passes/freeze/freeze_module.h`) works on a module: its attributes become constants of its "
      "methods.\n\n"
      "| pass | pipeline | what it does |\n| --- | --- | --- |\n";
  for (const PassInfo& pass : all_passes()) {
    text += std::string("| `") + pass.name + "` | " + (pass.in_pipeline ? "yes" : "") + " | " + pass.summary + " |\n";
  }
  for (const PassInfo& pass : all_passes()) {
    const std::string comment = comment_of(pass.name);
    if (!comment.empty()) text += std::string("\n## ") + pass.name + "\n\n```\n" + comment + "```\n";
  }
  return text;
}

TEST(Passes, AreDocumented) {
  if (std::getenv("SCONCE_ACCEPT")) std::ofstream(testing::source_path("docs/passes.md")) << page();
  EXPECT_EQ(read("docs/passes.md"), page()) << "SCONCE_ACCEPT=1 writes it anew";
}

}  // namespace
}  // namespace sconce::passes
