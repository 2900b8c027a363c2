// Adaptive parallelism: which steps of a plan are faster on the calling thread alone. Handing a loop over to another
// thread costs a microsecond or more, and what one core has in its cache the other one has to fetch; what that comes to
// depends on the step and on its neighbours, so it is measured, in the first calls of the plan.
//
// Note [Threads of steps]
// Calls take turns behind kUntimed that may still pack weights: all steps with all threads, all steps with one,
// kTurns of each; then, as often, each step with what was faster for it. A step that is alone among others pays for
// memory that they have, so whole calls decide: the least of the three sums stays. Times are medians: where cores are
// far apart, two threads are fast in a few calls and slow in the others. A step that took longer than kLongSeconds
// with all threads has them for good, so that a slow call costs no more than a fraction of itself. One thread
// measures at a time; calls of others run with all threads meanwhile. Results never depend on their number.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sconce::executor {

class StepThreads {
 public:
  static constexpr int kUntimed = 3, kTurns = 5, kCalls = kUntimed + 3 * kTurns;
  static constexpr double kLongSeconds = 200e-6;
  static constexpr double kGain = 0.97;  // of the time with all threads: less is noise

  explicit StepThreads(size_t steps) : seconds_(2 * steps), alone_(steps) {}

  bool is_decided() const noexcept { return is_decided_.load(std::memory_order_acquire); }
  // Whether the step runs on one thread. Valid when it is decided.
  bool is_alone(size_t step) const noexcept { return alone_[step]; }

  // A call that is measured; none while another one is, or when all is decided.
  class Turn {
   public:
    explicit Turn(StepThreads& of) noexcept;
    ~Turn();
    Turn(const Turn&) = delete;
    explicit operator bool() const noexcept { return of_; }
    bool is_alone(size_t step) const noexcept;
    void add(size_t step, double seconds) noexcept;

   private:
    StepThreads* of_;
    double sum_ = 0;
    size_t steps_ = 0;  // a call that throws has not all of them, and does not count
  };

 private:
  enum Kind : uint8_t { all, one, mixed, untimed };
  using Times = std::array<float, kTurns>;  // of the turns of one kind; 0: none
  Kind kind() const noexcept;
  int turn() const noexcept;
  bool is_short(size_t step) const noexcept { return seconds_[2 * step][0] < kLongSeconds; }
  void choose_each() noexcept;
  void decide() noexcept;

  std::atomic<bool> is_measured_{false}, is_decided_{false};
  int calls_ = 0;               // that were measured; the rest belongs to the one who measures
  std::vector<Times> seconds_;  // of each step: with all threads, with one
  Times sums_[3] = {};
  std::vector<uint8_t> alone_;
};

}  // namespace sconce::executor
