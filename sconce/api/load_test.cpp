#include <gtest/gtest.h>

#include "sconce/api/jit.h"
#include "sconce/testing/error_of.h"
#include "sconce/testing/source_tree.h"
#include "sconce/testing/temporary_folder.h"

namespace sconce::jit {
namespace {

TEST(Load, FromMemory) {
  const std::string bytes = testing::read_file(testing::source_path("tests/conformance/programs/scalar_math.pt"));
  const Module module = load(std::as_bytes(std::span(bytes)));
  EXPECT_EQ(module(7, 3, 2.5).repr(), "(2, 1, 2.3333333333333335, 6.25, -7, 2.5, True)");
}

TEST(Load, SaysWhatAFileIsThatHoldsNoProgram) {
  EXPECT_ERROR(load(std::as_bytes(std::span(std::string_view("hello")))), "<memory>: holds no program (text)");
  EXPECT_ERROR(load("/nowhere.pt"), "/nowhere.pt: cannot be opened");
}

}  // namespace
}  // namespace sconce::jit
