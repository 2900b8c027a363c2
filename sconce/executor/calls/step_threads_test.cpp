#include "sconce/executor/calls/step_threads.h"

#include <gtest/gtest.h>

namespace sconce::executor {
namespace {

// Microseconds of a step with all threads, with one, and with one where its neighbours have all.
struct Times {
  double all, one, mixed;
};

// The calls up to the decision. In the first ones weights are packed, and in some somebody else has the machine.
void measure(StepThreads& threads, const std::vector<Times>& steps) {
  for (int i = 0; i < StepThreads::kCalls; ++i) {
    EXPECT_FALSE(threads.is_decided());
    StepThreads::Turn turn(threads);
    ASSERT_TRUE(turn);
    const bool is_mixed = i >= StepThreads::kUntimed + 2 * StepThreads::kTurns;
    for (size_t s = 0; s < steps.size(); ++s) {
      const Times& t = steps[s];
      double took = turn.is_alone(s) ? is_mixed ? t.mixed : t.one : t.all;
      if (i < StepThreads::kUntimed || i % 7 == 0) took += 9000;
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
