#include "server/run/code_pages.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <string>

namespace sconce::server {
namespace {

// Of this process's pages, those of files: kilobytes.
long resident_files() {
  std::ifstream in("/proc/self/status");
  for (std::string line; std::getline(in, line);) {
    long n = 0;
    if (std::sscanf(line.c_str(), "RssFile: %ld", &n) == 1) return n;
  }
  return -1;
}

TEST(CodePages, AreGivenBackAndComeAgain) {
  const long before = resident_files();
  if (before < 0) GTEST_SKIP() << "the system does not tell what is resident";
  EXPECT_GT(give_back_code(), 1u << 20);  // libsconce alone has more
  EXPECT_LT(resident_files(), before);    // this line runs: its page is there again
}

}  // namespace
}  // namespace sconce::server
