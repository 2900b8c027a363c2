#include "sconce/tensor/generator.h"

#include <gtest/gtest.h>

#include <cstring>

#include "sconce/base/error.h"

namespace sconce {
namespace {

TEST(Generator, IsTheMersenneTwister) {
  GeneratorImpl g(5489);  // the value that the C++ standard names
  uint32_t last = 0;
  for (int i = 0; i < 10000; ++i) last = g.random();
  EXPECT_EQ(last, 4123659995u);
}

TEST(Generator, SeedZero) {
  GeneratorImpl g(0);
  EXPECT_EQ(g.random(), 2357136044u);
  EXPECT_EQ(g.random(), 2546248239u);
  g.seed(0);
  EXPECT_EQ(g.random64(), uint64_t{2357136044} << 32 | 2546248239u);
}

TEST(Generator, OnlyTheLowHalfOfTheSeedCounts) {
  GeneratorImpl a(7), b(7 + (uint64_t{3} << 32));
  EXPECT_EQ(a.random(), b.random());
  EXPECT_NE(a.initial_seed(), b.initial_seed());
}

TEST(Generator, SeedingDropsTheWaitingNormal) {
  GeneratorImpl g(1);
  g.next_normal = 0.5;
  g.seed(1);
  EXPECT_FALSE(g.next_normal);
}

TEST(Generator, HandlesShareTheState) {
  const Generator a = make_generator(1), b = a;
  const uint32_t first = a.impl()->random();
  EXPECT_NE(b.impl()->random(), first);
  EXPECT_FALSE(Generator().defined());
}

TEST(Generator, TheDefaultOneIsSeededByManualSeed) {
  manual_seed(42);
  EXPECT_EQ(default_generator().impl()->initial_seed(), 42u);
  EXPECT_EQ(default_generator().impl()->random(), make_generator(42).impl()->random());
}

int32_t int_at(const std::vector<uint8_t>& state, size_t at) {
  int32_t v;
  std::memcpy(&v, state.data() + at, 4);
  return v;
}

TEST(Generator, StateHasPyTorchsLayout) {
  GeneratorImpl g(0);
  std::vector<uint8_t> state = g.state();
  ASSERT_EQ(state.size(), 5056u);
  EXPECT_EQ(int_at(state, 8), 1);   // left
  EXPECT_EQ(int_at(state, 12), 1);  // seeded
  EXPECT_EQ(int_at(state, 16), 0);  // next
  EXPECT_EQ(int_at(state, 32), 1);  // the second word for seed 0
  EXPECT_EQ(int_at(state, 5040), 0);
  g.random();
  g.next_normal = -0.910501928;
  state = g.state();
  EXPECT_EQ(int_at(state, 8), 624);
  EXPECT_EQ(int_at(state, 16), 1);
  EXPECT_EQ(int_at(state, 5040), 1);
  double normal;
  std::memcpy(&normal, state.data() + 5024, 8);
  EXPECT_EQ(normal, -0.910501928);
}

TEST(Generator, StateRoundTripsAtEveryPosition) {
  GeneratorImpl g(3), copy(0);
  for (int i = 0; i < 1300; ++i) {
    if (i == 700) g.next_normal = 1.25;
    const std::vector<uint8_t> state = g.state();
    copy.set_state(state);
    EXPECT_EQ(copy.state(), state);
    EXPECT_EQ(copy.next_normal, g.next_normal);
    ASSERT_EQ(copy.random(), g.random()) << i;
  }
  EXPECT_EQ(copy.initial_seed(), 3u);
}

TEST(Generator, KeepsTheFloatOfTheState) {
  GeneratorImpl g(3);
  std::vector<uint8_t> state = g.state();
  const float f = 0.75f;
  std::memcpy(state.data() + 5048, &f, 4);
  state[5052] = 1;
  g.set_state(state);
  EXPECT_EQ(g.state(), state);
}

TEST(Generator, TakesOldStates) {
  GeneratorImpl g(3);
  std::vector<uint8_t> state = g.state();
  state.resize(5048);
  const double x = 0.25, rho = 2;
  std::memcpy(state.data() + 5016, &x, 8);
  std::memcpy(state.data() + 5032, &rho, 8);
  state[5040] = 1;
  GeneratorImpl other(9);
  other.set_state(state);
  EXPECT_EQ(other.random(), g.random());
  EXPECT_DOUBLE_EQ(*other.next_normal, 2);
}

TEST(Generator, RefusesInvalidStates) {
  GeneratorImpl g(3);
  const std::vector<uint8_t> good = g.state();
  const auto with = [&](size_t at, int32_t v) {
    std::vector<uint8_t> bad = good;
    std::memcpy(bad.data() + at, &v, 4);
    return bad;
  };
  EXPECT_THROW(g.set_state(std::vector<uint8_t>()), Error);
  EXPECT_THROW(g.set_state(std::vector<uint8_t>(5055)), Error);
  EXPECT_THROW(g.set_state(std::vector<uint8_t>(5056)), Error);
  EXPECT_THROW(g.set_state(with(8, 0)), Error);
  EXPECT_THROW(g.set_state(with(8, -5)), Error);
  EXPECT_THROW(g.set_state(with(8, 626)), Error);
  EXPECT_THROW(g.set_state(with(12, 0)), Error);
  EXPECT_THROW(g.set_state(with(16, 625)), Error);
  EXPECT_THROW(g.set_state(with(20, 1)), Error);  // next has 64 bits
  std::vector<uint8_t> past_the_end = with(8, 100);
  past_the_end[16] = 0x58;  // next = 600: 99 draws do not fit
  past_the_end[17] = 0x02;
  EXPECT_THROW(g.set_state(past_the_end), Error);
  EXPECT_EQ(g.state(), good);  // and nothing changed
}

}  // namespace
}  // namespace sconce
