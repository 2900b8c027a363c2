// Adaptive parallelism: which steps of a plan are faster on the calling thread alone. Handing a loop over to another
// thread costs a microsecond or more, and what one core has in its cache the other one has to fetch; what that comes to
// depends on the step and on its neighbours, so it is measured, in calls of the plan.
//
// Note [Threads of steps]
// Behind kUntimed calls that may still pack weights there are blocks of kBlock calls: all steps with all threads, all
// steps with one, both again; then, as often, each step with what was faster for it. A step that is alone among others
// pays for memory that they have, so whole calls decide: the least of the three sums stays. The first call of a block
// does not count, since it finds in its cache what the block before it has left there. Times are medians: where cores
// are far apart, two threads are fast in a few calls and slow in the others. A step that took longer than kLongSeconds
// with all threads has them for good, so that a slow call costs no more than a fraction of itself. Every kKept calls it
// is all measured again: the system, or the one below a virtual machine, moves threads to other cores.
//
// One thread measures at a time, and what it measures is its own; calls of others run meanwhile by the last decision,
// or with all threads. Decisions are atomic words, read and written one by one: a call may see some of a new one and
// the rest of the old. Results never depend on the number of threads, so that nothing else depends on what it sees.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sconce::executor {

class StepThreads {
 public:
  static constexpr int kUntimed = 3, kBlock = 4, kBlocks = 6, kCalls = kUntimed + kBlocks * kBlock;
  static constexpr uint32_t kKept = 2000;
  static constexpr double kLongSeconds = 200e-6;
  static constexpr double kGain = 0.97;  // of the time with all threads: less is noise

  explicit StepThreads(size_t steps) : seconds_(2 * steps), tried_(steps), alone_(steps) {}

  // Whether there was a decision, by which a call can run.
  bool is_decided() const noexcept { return is_decided_.load(std::memory_order_acquire); }
  // Whether the next call runs by it; otherwise it is one to be measured. Counts the call.
  bool keeps_decision() noexcept;
  // Whether the step runs on one thread. Valid when it is decided.
  bool is_alone(size_t step) const noexcept { return alone_[step].load(std::memory_order_relaxed); }

  // A call that is measured; none while another one is, or when none is to be.
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
  static constexpr size_t kTurns = kBlocks / 3 * (kBlock - 1);
  using Times = std::array<float, kTurns>;  // of the calls of one kind that count; 0: none
  Kind kind() const noexcept;
  bool counts() const noexcept;
  size_t turn() const noexcept;
  bool is_short(size_t step) const noexcept { return seconds_[2 * step][0] < kLongSeconds; }
  void choose_each() noexcept;
  void decide() noexcept;

  std::atomic<bool> is_measured_{false}, is_decided_{false}, is_due_{true};
  std::atomic<uint32_t> kept_{0};  // calls since the decision, about
  // From here on it belongs to the one who measures.
  int calls_ = 0;               // that were measured
  std::vector<Times> seconds_;  // of each step: with all threads, with one
  Times sums_[3] = {};
  std::vector<uint8_t> tried_;  // which steps are alone in mixed calls
  // But for this.
  std::vector<std::atomic<uint8_t>> alone_;
};

}  // namespace sconce::executor
