#include "sconce/base/logs.h"

#include <gtest/gtest.h>

#include "sconce/base/error.h"

namespace sconce {
namespace {

LogLevel level(std::string_view settings, LogTag tag) { return parse_log_levels(settings)[static_cast<size_t>(tag)]; }

std::string refusal(std::string_view settings) {
  try {
    parse_log_levels(settings);
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::value);
    return e.what();
  }
  return "";
}

TEST(Logs, TagsAndLevels) {
  EXPECT_EQ(level("", LogTag::passes), LogLevel::off);
  EXPECT_EQ(level("passes", LogTag::passes), LogLevel::info);
  EXPECT_EQ(level("passes", LogTag::autodiff), LogLevel::off);
  EXPECT_EQ(level("autodiff,+passes", LogTag::passes), LogLevel::debug);
  EXPECT_EQ(level("autodiff,+passes", LogTag::autodiff), LogLevel::info);
  EXPECT_EQ(level("+all,-passes", LogTag::passes), LogLevel::off);
  EXPECT_EQ(level("+all,-passes", LogTag::bytecode), LogLevel::debug);
}

TEST(Logs, UnknownTagsAreRefused) {
  const std::string text = refusal("passes,pases");
  EXPECT_NE(text.find("Invalid log settings: passes,pases,"), text.npos) << text;
  EXPECT_NE(text.find("Valid settings:\nall, autodiff, bytecode, codegen, dynamo, fusion, frontend, graph, "
                      "graph_breaks, graph_code, guards, kernels, "
                      "output_code, passes, perf_hints, plans, recompiles"),
            text.npos)
      << text;
  for (const char* settings : {"Passes", "passes,", ",passes", "+", "++passes", "passes help", "passes, autodiff"}) {
    EXPECT_NE(refusal(settings), "") << settings;
  }
}

TEST(Logs, HelpListsTheTags) {
  const std::string text = refusal("help");
  EXPECT_EQ(text, refusal("+help"));
  for (const char* name : {"  all ", "  autodiff ", "  bytecode ", "  frontend ", "  passes "}) {
    EXPECT_NE(text.find(name), text.npos) << text;
  }
}

}  // namespace
}  // namespace sconce
