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
  if (calls_ >= kUntimed + 2 * kTurns) return mixed;
  return (calls_ - kUntimed) % 2 == 0 ? all : one;
}

// Which of its kind.
int StepThreads::turn() const noexcept {
  const int timed = calls_ - kUntimed;
  return timed < 2 * kTurns ? timed / 2 : timed - 2 * kTurns;
}

StepThreads::Turn::Turn(StepThreads& of) noexcept : of_(nullptr) {
  if (of.is_decided() || of.is_measured_.exchange(true, std::memory_order_acquire)) return;
  // It may have been decided in between.
  if (of.is_decided())
    of.is_measured_.store(false, std::memory_order_release);
  else
    of_ = &of;
}

StepThreads::Turn::~Turn() {
  if (!of_) return;
  const Kind kind = of_->kind();
  if (kind != untimed && steps_ == of_->alone_.size())
    of_->sums_[kind][static_cast<size_t>(of_->turn())] = static_cast<float>(sum_);
  ++of_->calls_;
  if (of_->calls_ == kUntimed + 2 * kTurns) of_->choose_each();
  if (of_->calls_ == kCalls) of_->decide();
  of_->is_measured_.store(false, std::memory_order_release);
}

bool StepThreads::Turn::is_alone(size_t step) const noexcept {
  const Kind kind = of_->kind();
  return kind == mixed ? of_->alone_[step] : kind == one && of_->is_short(step);
}

void StepThreads::Turn::add(size_t step, double seconds) noexcept {
  sum_ += seconds;
  ++steps_;
  const Kind kind = of_->kind();
  if (kind != all && kind != one) return;
  if (kind == one && !is_alone(step)) return;
  of_->seconds_[2 * step + (kind == one ? 1 : 0)][static_cast<size_t>(of_->turn())] = static_cast<float>(seconds);
}

void StepThreads::choose_each() noexcept {
  for (size_t i = 0; i < alone_.size(); ++i) alone_[i] = median(seconds_[2 * i + 1]) < kGain * median(seconds_[2 * i]);
}

void StepThreads::decide() noexcept {
  const float with_all = median(sums_[all]), with_one = median(sums_[one]), with_both = median(sums_[mixed]);
  if (std::min(with_one, with_both) >= kGain * with_all) {
    std::fill(alone_.begin(), alone_.end(), uint8_t{0});
  } else if (with_one < with_both) {
    for (size_t i = 0; i < alone_.size(); ++i) alone_[i] = is_short(i);
  }
  is_decided_.store(true, std::memory_order_release);
}

}  // namespace sconce::executor
