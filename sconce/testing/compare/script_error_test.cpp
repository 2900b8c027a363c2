#include "sconce/testing/compare/script_error.h"
#include "sconce/base/source.h"

#include <gtest/gtest.h>

#include "sconce/base/source.h"

namespace sconce::testing {
namespace {

TEST(ScriptError, CompileErrorsBeginWithTheReason) {
  const RecordedError e = parse_compile_error(
      "\nundefined value y:\n  File \"<string>\", line 2\ndef f(x):\n    return x + y\n               ~ <--- HERE\n");
  EXPECT_EQ(e.reason, "\nundefined value y:\n");
  EXPECT_EQ(e.line, 2);
  EXPECT_EQ(e.line_text, "return x + y");
}

TEST(ScriptError, RunErrorsEndWithTheReason) {
  const RecordedError e = parse_run_error(
      "The following operation failed in the TorchScript interpreter.\nTraceback of TorchScript (most recent call "
      "last):\n"
      "  File \"a.py\", line 9, in g\n    f(x)\n    ~ <--- HERE\n"
      "  File \"a.py\", line 4, in f\n    if x < 0:\n        raise ValueError(x)\n        ~~~~~~~~~~~~~~~~~~~ <--- "
      "HERE\n"
      "    return x\nbuiltins.ValueError: negative: -1\n");
  EXPECT_EQ(e.reason, "negative: -1");
  EXPECT_EQ(e.line, 4);
  EXPECT_EQ(e.line_text, "raise ValueError(x)");
}

TEST(ScriptError, OneOfTheCandidatesReasonsIsEnough) {
  const Range at{std::make_shared<Source>("<string>", "def f():\n  return g(1)\n"), 18, 22};
  const RecordedError e = parse_compile_error(
      "\nArguments for call are not valid.\nThe following variants are available:\n  \n  aten::g(str a) -> int:\n"
      "  Expected a value of type 'str' for argument 'a' but instead found type 'int'.\n  \nThe original call is:\n"
      "  File \"<string>\", line 2\ndef f():\n  return g(1)\n         ~~~~ <--- HERE\n");
  const std::string head = "Arguments for call are not valid.\nThe following variants are available:\n";
  const std::string same = "  Expected a value of type 'str' for argument 'a' but instead found type 'int'.\n";
  EXPECT_FALSE(
      compare_error(CompileError(head + "  aten::g.other(Tensor a) -> int:\n  no\n  aten::g:\n" + same, at), e));
  EXPECT_TRUE(compare_error(CompileError(head + "  aten::g.other(Tensor a) -> int:\n  no\n", at), e));
  EXPECT_TRUE(compare_error(CompileError("undefined value g", at), e));
}

TEST(ScriptError, NamesOfKernelsAreNoReason) {
  const Range at{std::make_shared<Source>("<string>", "def f():\n  return g(1)\n"), 18, 22};
  const RecordedError e = parse_compile_error(
      "\"GeluKernelImpl\" not implemented for 'Long'\n  File \"<string>\", line 2\ndef f():\n  return g(1)\n"
      "         ~~~~ <--- HERE\n");
  EXPECT_FALSE(compare_error(CompileError("\"gelu\" not implemented for 'Long'", at), e));
  EXPECT_TRUE(compare_error(CompileError("\"gelu\" not implemented for 'Int'", at), e));
  EXPECT_FALSE(compare_error(
      CompileError("\"gelu\" not implemented for 'Long'\n (this library was built for bool; select adds others)", at),
      e));
}

}  // namespace
}  // namespace sconce::testing
