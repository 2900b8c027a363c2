#include "sconce/executor/calls/step_threads.h"

#include <algorithm>

namespace sconce::executor {
namespace {

// Of those that are there; a call that threw has none. Without any, as long as can be.
template <size_t n>
float median(std::array<float, n> times) {
  const auto there = std::remove(times.begin(), times.end(), 0.0F);
  if (there == times.begin()) return 1e9F;
  const auto middle = times.begin() + (there - times.begin()) / 2;
  std::nth_element(times.begin(), middle, there);
  return *middle;
}

}  // namespace

StepThreads::Kind StepThreads::kind() const noexcept {
  if (calls_ < kUntimed) return untimed;
  const int block = (calls_ - kUntimed) / kBlock;
  return block >= 4 ? mixed : block % 2 == 0 ? all : one;
}

bool StepThreads::counts() const noexcept { return calls_ >= kUntimed && (calls_ - kUntimed) % kBlock != 0; }

// Which of its kind, of those that count.
size_t StepThreads::turn() const noexcept {
  const int timed = calls_ - kUntimed, block = timed / kBlock;
  return static_cast<size_t>((block >= 4 ? block - 4 : block / 2) * (kBlock - 1) + timed % kBlock - 1);
}

// Threads that count at the same time may lose a call. The one that begins to measure again resets the count.
bool StepThreads::keeps_decision() noexcept {
  if (is_due_.load(std::memory_order_acquire)) return false;
  const uint32_t kept = kept_.load(std::memory_order_relaxed) + 1;
  kept_.store(kept, std::memory_order_relaxed);
  if (kept >= kKept) is_due_.store(true, std::memory_order_release);
  return true;
}

StepThreads::Turn::Turn(StepThreads& of) noexcept : of_(nullptr) {
  if (!of.is_due_.load(std::memory_order_acquire) || of.is_measured_.exchange(true, std::memory_order_acquire)) return;
  // It may have been decided in between.
  if (!of.is_due_.load(std::memory_order_acquire)) {
    of.is_measured_.store(false, std::memory_order_release);
    return;
  }
  of_ = &of;
  if (of.calls_ < kCalls) return;
  of.calls_ = kUntimed;  // again: everything is packed
  for (Times& times : of.seconds_) times = {};
  for (Times& times : of.sums_) times = {};
}

StepThreads::Turn::~Turn() {
  if (!of_) return;
  if (of_->counts() && steps_ == of_->alone_.size()) of_->sums_[of_->kind()][of_->turn()] = static_cast<float>(sum_);
  ++of_->calls_;
  if (of_->calls_ == kUntimed + 4 * kBlock) of_->choose_each();
  if (of_->calls_ == kCalls) of_->decide();
  of_->is_measured_.store(false, std::memory_order_release);
}

bool StepThreads::Turn::is_alone(size_t step) const noexcept {
  const Kind kind = of_->kind();
  return kind == mixed ? of_->tried_[step] : kind == one && of_->is_short(step);
}

void StepThreads::Turn::add(size_t step, double seconds) noexcept {
  sum_ += seconds;
  ++steps_;
  const Kind kind = of_->kind();
  if (!of_->counts() || kind == mixed) return;
  if (kind == one && !is_alone(step)) return;
  of_->seconds_[2 * step + (kind == one ? 1 : 0)][of_->turn()] = static_cast<float>(seconds);
}

void StepThreads::choose_each() noexcept {
  for (size_t i = 0; i < tried_.size(); ++i) tried_[i] = median(seconds_[2 * i + 1]) < kGain * median(seconds_[2 * i]);
}

void StepThreads::decide() noexcept {
  const float with_all = median(sums_[all]), with_one = median(sums_[one]), with_both = median(sums_[mixed]);
  const bool needs_all = std::min(with_one, with_both) >= kGain * with_all;
  for (size_t i = 0; i < alone_.size(); ++i) {
    const bool is_alone = !needs_all && (with_one < with_both ? is_short(i) : tried_[i] != 0);
    alone_[i].store(is_alone, std::memory_order_relaxed);
  }
  kept_.store(0, std::memory_order_relaxed);
  is_decided_.store(true, std::memory_order_release);
  is_due_.store(false, std::memory_order_release);
}

}  // namespace sconce::executor
