#include "sconce/frontend/script/calls/calls.h"

#include "sconce/frontend/script/program/program.h"
#include "sconce/testing/error_of.h"

namespace sconce::script {
namespace {

// f0 calls f1, which calls f2, ...
std::string chain_of(int functions) {
  std::string text;
  for (int i = 0; i < functions; ++i) {
    text += "def f" + std::to_string(i) + "(x):\n    return f" + std::to_string(i + 1) + "(x)\n";
  }
  return text + "def f" + std::to_string(functions) + "(x):\n    return x\n";
}

TEST(Calls, AChainOfFunctionsMayBeLongButNotEndless) {
  EXPECT_NO_THROW(Program(chain_of(100)));
  EXPECT_ERROR(Program(chain_of(20000)), "too long a chain of functions");
}

}  // namespace
}  // namespace sconce::script
