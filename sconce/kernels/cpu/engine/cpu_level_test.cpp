#include "sconce/kernels/cpu/engine/cpu_level.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "sconce/base/error.h"

namespace sconce {
namespace {

TEST(CpuLevel, IsLoweredByTheEnvironmentOnly) {
  const char* before = std::getenv("SCONCE_CPU_LEVEL");
  const std::string saved = before ? before : "";
  unsetenv("SCONCE_CPU_LEVEL");
  const int machine = detail::find_cpu_level();
  EXPECT_GE(machine, 2);
  EXPECT_LE(machine, 4);
  setenv("SCONCE_CPU_LEVEL", "2", 1);
  EXPECT_EQ(detail::find_cpu_level(), 2);
  EXPECT_EQ(cpu_level(), 2);
  setenv("SCONCE_CPU_LEVEL", "4", 1);
  EXPECT_EQ(detail::find_cpu_level(), machine);
  setenv("SCONCE_CPU_LEVEL", "avx", 1);
  EXPECT_THROW(detail::find_cpu_level(), Error);
  if (before) {
    setenv("SCONCE_CPU_LEVEL", saved.c_str(), 1);
  } else {
    unsetenv("SCONCE_CPU_LEVEL");
  }
  detail::find_cpu_level();
}

// Every machine has level 2.
TEST(CpuLevel, IsTheLowestInDeterministicMode) {
  const bool before = is_deterministic();
  set_deterministic(true);
  EXPECT_TRUE(is_deterministic());
  EXPECT_EQ(cpu_level(), 2);
  set_deterministic(false);
  EXPECT_FALSE(is_deterministic());
  EXPECT_EQ(cpu_level(), detail::find_cpu_level());
  set_deterministic(before);
}

}  // namespace
}  // namespace sconce
