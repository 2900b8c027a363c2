// Golden tests of the compiler: the .test files beside this one have cases of a source and the graph of its last
// function, or the message with which it is refused.
//
//   # a comment
//   -- what the case shows
//   def f(x: int):
//       return x + 1
//   ----
//   graph(%x : int):
//     ...
//
// SCONCE_ACCEPT=1 rewrites what is expected.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "sconce/frontend/script/program/program.h"
#include "sconce/ir/verifier.h"
#include "sconce/testing/golden_file.h"
#include "sconce/testing/source_tree.h"

namespace sconce::script {
namespace {

std::string last_function(const std::string& source) {
  const syntax::TreePtr tree = syntax::parse(std::make_shared<Source>("<string>", source));
  std::string name;
  for (syntax::StmtPtr s : tree->body) {
    if (const auto* def = syntax::as<syntax::FunctionDef>(s)) name = def->name;
  }
  return name;
}

std::string compiled(const std::string& source) {
  try {
    const Program program(source);
    ir::Function* f = program.find_function(last_function(source));
    if (!f) return "no function\n";
    ir::verify(*f->graph());
    return f->graph()->copy()->to_string(false);  // values numbered by their place
  } catch (const CompileError& error) {
    std::string text = error.what();
    // Blanks at the ends of lines do not survive editors.
    for (size_t at; (at = text.find(" \n")) != text.npos;) text.erase(at, 1);
    while (text.ends_with('\n')) text.pop_back();
    return text + "\n";
  }
}

class ScriptGolden : public ::testing::TestWithParam<std::string> {};

TEST_P(ScriptGolden, CompilesAsExpected) { testing::check_golden_file(GetParam(), compiled); }

INSTANTIATE_TEST_SUITE_P(Script, ScriptGolden,
                         ::testing::ValuesIn(testing::files_below("sconce/frontend/script", ".test")),
                         [](const auto& info) { return testing::stem_of(info.param); });

// ---- limits ----

std::string refusal(const std::string& source) {
  const std::string text = compiled(source);
  return text.substr(0, text.find(':'));
}

// What the parser lets through can be compiled (it refuses deeper trees itself).
TEST(ScriptLimits, LongChainsCompile) {
  std::string sum = "def f(x: int):\n    return x";
  for (int i = 0; i < 450; ++i) sum += " + x";
  EXPECT_TRUE(compiled(sum + "\n").starts_with("graph("));
  std::string calls = "def f(x):\n    return x";
  for (int i = 0; i < 190; ++i) calls += ".relu()";
  EXPECT_TRUE(compiled(calls + "\n").starts_with("graph("));
}

TEST(ScriptLimits, ManyExitsCompileUpToALimit) {
  const auto returns = [](int n) {
    std::string text = "def f(x: int):\n";
    for (int i = 0; i < n; ++i) text += "    if x == " + std::to_string(i) + ":\n        return 1\n";
    return text + "    return -1\n";
  };
  EXPECT_TRUE(compiled(returns(900)).starts_with("graph("));
  EXPECT_EQ(refusal(returns(1100)), "a function may have 1000 statements after which it can be left");
}

TEST(ScriptLimits, WhatDoublesIsRefused) {
  std::string loops = "def f(t: Tuple[int, int, int, int, int, int, int, int], n: int):\n";
  for (int i = 0; i < 10; ++i) loops += std::string(4 + i, ' ') + "for x" + std::to_string(i) + " in t:\n";
  EXPECT_EQ(refusal(loops + "              n += 1\n    return n\n"),
            "unrolled loops repeat their bodies more than 20000 times");

  std::string tuples = "def f(x: int):\n    t = (x, x)\n";
  for (int i = 0; i < 60; ++i) tuples += "    t = (t, t)\n";
  EXPECT_NE(refusal(tuples + "    return 1\n").find("more than"), std::string::npos);
}

}  // namespace
}  // namespace sconce::script
