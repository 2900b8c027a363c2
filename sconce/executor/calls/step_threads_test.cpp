#include "sconce/executor/calls/step_threads.h"

#include <gtest/gtest.h>

#include <thread>

namespace sconce::executor {
namespace {

// Microseconds of a step with all threads, with one, and with one where its neighbours have all.
struct Times {
  double all, one, mixed;
};

// The calls from number `first` up to the decision. In the first ones weights are packed, the first of each block pays
// for what the one before it has left in caches, and in some somebody else has the machine.
void measure(StepThreads& threads, const std::vector<Times>& steps, int first = 0) {
  for (int i = first; i < StepThreads::kCalls; ++i) {
    EXPECT_FALSE(threads.keeps_decision());
    StepThreads::Turn turn(threads);
    ASSERT_TRUE(turn);
    const int timed = i - StepThreads::kUntimed;
    const bool is_mixed = timed >= 4 * StepThreads::kBlock;
    for (size_t s = 0; s < steps.size(); ++s) {
      const Times& t = steps[s];
      double took = turn.is_alone(s) ? is_mixed ? t.mixed : t.one : t.all;
      if (timed % StepThreads::kBlock == 0) took *= 3;
      if (timed < 0 || i % 7 == 0) took += 9000;
      turn.add(s, 1e-6 * took);
    }
  }
  EXPECT_TRUE(threads.is_decided());
  EXPECT_FALSE(StepThreads::Turn(threads));
}

std::vector<bool> alone(const std::vector<Times>& steps) {
  StepThreads threads(steps.size());
  measure(threads, steps);
  std::vector<bool> found;
  for (size_t i = 0; i < steps.size(); ++i) found.push_back(threads.is_alone(i));
  return found;
}

TEST(StepThreads, KeepWhatWasFaster) {
  // The third is as good as the same, the last too long to be tried.
  EXPECT_EQ(alone({{40, 3, 3}, {20, 30, 30}, {10, 9.9, 9.9}, {300, 100, 100}}),
            (std::vector<bool>{true, false, false, false}));
}

TEST(StepThreads, WholeCallsDecide) {
  // Alone among others a step waits for what they have: all threads for all steps, or one.
  EXPECT_EQ(alone({{8, 7, 12}, {20, 30, 30}}), (std::vector<bool>{false, false}));
  EXPECT_EQ(alone({{10, 4, 12}, {10, 8, 12}, {10, 10.5, 12}}), (std::vector<bool>{true, true, true}));
}

TEST(StepThreads, AreMeasuredAgain) {
  // Threads were moved to cores that are near each other, and away again.
  StepThreads threads(2);
  const std::vector<Times> far = {{20, 12, 12}, {20, 30, 30}}, near = {{8, 12, 12}, {17, 30, 30}};
  measure(threads, far);
  for (const auto& [times, is_alone] : {std::pair(&near, false), std::pair(&far, true)}) {
    for (uint32_t i = 0; i < StepThreads::kKept; ++i) EXPECT_TRUE(threads.keeps_decision());
    measure(threads, *times, StepThreads::kUntimed);
    EXPECT_EQ(threads.is_alone(0), is_alone);
    EXPECT_FALSE(threads.is_alone(1));
  }
}

TEST(StepThreads, OthersRunByTheLastDecisionMeanwhile) {
  StepThreads threads(1);
  measure(threads, {{20, 12, 12}});
  std::vector<std::thread> callers;
  for (int t = 0; t < 4; ++t) {
    callers.emplace_back([&] {
      for (uint32_t i = 0; i < 3 * StepThreads::kKept; ++i) {
        if (threads.keeps_decision()) {
          EXPECT_TRUE(threads.is_alone(0));
          continue;
        }
        StepThreads::Turn turn(threads);
        if (turn) turn.add(0, turn.is_alone(0) ? 12e-6 : 20e-6);
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_TRUE(threads.is_alone(0));
}

TEST(StepThreads, OneCallAtATimeIsMeasured) {
  StepThreads threads(1);
  {
    const StepThreads::Turn first(threads);
    EXPECT_TRUE(first);
    EXPECT_FALSE(StepThreads::Turn(threads));
  }
  EXPECT_TRUE(StepThreads::Turn(threads));
}

}  // namespace
}  // namespace sconce::executor
