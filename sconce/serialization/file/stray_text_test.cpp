#include "sconce/serialization/file/stray_text.h"

#include <gtest/gtest.h>

namespace sconce {
namespace {

std::string what(std::string_view text, const std::string& name) {
  return what_stray_text_is(*FileBytes::copy(std::as_bytes(std::span(text)), name));
}

TEST(StrayText, IsToldFromPrograms) {
  EXPECT_EQ(what("def f(x):\n    return x\n", "model.py"), "");
  EXPECT_EQ(what("graph(%x):\n  return (%x)\n", "model"), "");
  EXPECT_EQ(what("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n", "model.pt"),
            "is a pointer of git-lfs and not the file itself, which 'git lfs pull' fetches");
  EXPECT_EQ(what(" \n<!DOCTYPE html><html>", "model.py"),
            "is a web page: perhaps what a download answered instead of the file");
  EXPECT_EQ(what("<HTML lang=en>", "x"), "is a web page: perhaps what a download answered instead of the file");
  EXPECT_EQ(what("Not found", "model.pt"), "is text, and its name is that of an archive (.pt)");
  EXPECT_EQ(what("", "model.py"), "");
}

}  // namespace
}  // namespace sconce
