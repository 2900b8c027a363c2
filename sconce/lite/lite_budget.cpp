// Budgets of lite libraries, in place of base/budget.cpp and dispatch/budget/budget_scope.cpp: they stand alone, end
// neither with time nor by cancel(), and operators have the kernel that pays from the beginning
// (opgen/faces/records.py).
#include "sconce/lite/lite_budget.h"

#include <algorithm>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include "sconce/base/error.h"
#include "sconce/dispatch/budget/budget_scope.h"

namespace sconce {
namespace {

constexpr double kMost = 9e18;  // elements; more are as good as endless

// Bytes of the C library's heap that are in use; 0 where it does not say so.
uint64_t heap_in_use() noexcept {
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 33)
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
#else
  return 0;
#endif
}

// Of a scope with a budget: operators pay.
uint16_t set_observed(bool on) noexcept {
  constexpr uint16_t kObserve = KeySet(Key::observe).bits();
  const uint16_t before = thread_modes.include;
  thread_modes.include = static_cast<uint16_t>((before & ~kObserve) | (on ? kObserve : 0));
  return before & kObserve;
}

}  // namespace

namespace detail {
thread_local constinit Budget* budget_of_thread = nullptr;
}

Budget::Budget(const Limits& limits, std::string whose)
    : limits_(limits), whose_(std::move(whose)), has_deadline_(false) {
  if (limits_.memory != Limits::kNone) in_use_before_ = heap_in_use();
}

void Budget::end(const char* why, std::initializer_list<ErrorArg> args) {
  fail("{}: {}", whose_, format_message(why, args));
}

// Values that are gone were counted when they were made. The heap knows what there is: also tensors and what other
// threads have, so that the count stays an upper bound. Whether a good part of the limit is free again.
bool Budget::count_again() noexcept {
  const uint64_t now = heap_in_use();
  if (now == 0 || in_use_before_ == 0) return false;
  const int64_t tensors = std::max<int64_t>(tensors_.load(std::memory_order_relaxed), 0);
  const int64_t grown = std::max<int64_t>(static_cast<int64_t>(now - in_use_before_) - tensors, 0);
  if (grown >= values_.load(std::memory_order_relaxed)) return false;
  values_.store(grown, std::memory_order_relaxed);
  return static_cast<uint64_t>(tensors + grown) < limits_.memory - limits_.memory / 16;
}

// Throw Error where the limit, if there is one, does not leave so much; `refusal` is told the limit, what is wanted and
// what is left.
void Budget::need_memory(uint64_t bytes, bool for_tensor, const char* refusal) {
  if (limits_.memory == Limits::kNone) return;
  for (bool again = true;; again = false) {
    const int64_t tensors = tensors_.load(std::memory_order_relaxed);
    const int64_t held =
        (for_tensor ? tensors : std::max<int64_t>(tensors, 0)) + values_.load(std::memory_order_relaxed);
    const uint64_t left = limits_.memory - std::min(limits_.memory, static_cast<uint64_t>(std::max<int64_t>(held, 0)));
    if (bytes <= left) return;
    if (again && bytes <= limits_.memory && count_again()) continue;
    end(refusal, {limits_.memory, bytes, left});
  }
}
void Budget::need_work(uint64_t elements, uint64_t wanted, const char* refusal) {
  if (limits_.work == Limits::kNone) return;
  const uint64_t before = work_.load(std::memory_order_relaxed);
  const uint64_t left = limits_.work - std::min(before, limits_.work);
  if (before > limits_.work || elements > left) end(refusal, {limits_.work, wanted, left});
}

void Budget::take_memory(uint64_t bytes) {
  need_memory(bytes, false, "the memory limit of {} bytes does not allow {} more: {} are left");
  values_.fetch_add(static_cast<int64_t>(bytes), std::memory_order_relaxed);
}

void Budget::take_tensor_memory(uint64_t bytes) {
  need_work(bytes / 4 + (bytes % 4 != 0), bytes,
            "the work limit of {} elements does not allow a tensor of {} bytes: {} are left");
  need_memory(bytes, true, "the memory limit of {} bytes does not allow a tensor of {} more: {} are left");
  tensors_.fetch_add(static_cast<int64_t>(bytes), std::memory_order_relaxed);
  work_.fetch_add(bytes / 4, std::memory_order_relaxed);
}

void Budget::give_tensor_memory(uint64_t bytes) noexcept {
  tensors_.fetch_sub(static_cast<int64_t>(bytes), std::memory_order_relaxed);
}

void Budget::take_work(double elements) {
  const uint64_t count = elements > 0 ? elements < kMost ? static_cast<uint64_t>(elements) : Limits::kNone / 2 : 0;
  need_work(count, count, "the work limit of {} elements does not allow {} more: {} are left");
  work_.fetch_add(count, std::memory_order_relaxed);
}

void Budget::take_steps(uint64_t count) {
  const uint64_t before = steps_.fetch_add(count, std::memory_order_relaxed);
  if (before >= limits_.steps || count > limits_.steps - before)
    end("the step limit of {} (loop iterations and calls) is used up", {limits_.steps});
}

void Budget::poll() {}

// Of readers that the whole library has, too.
BudgetScope::BudgetScope(std::shared_ptr<Budget> budget)
    : budget_(std::move(budget)), active_(budget_.get()), include_(set_observed(budget_ != nullptr)) {}
BudgetScope::~BudgetScope() { set_observed(include_ != 0); }

namespace lite {

OwnBudget::OwnBudget(const Limits& limits, const char* whose) : budget_(limits, format_message(whose, {})) {
  detail::budget_of_thread = &budget_;
  set_observed(true);
}
OwnBudget::~OwnBudget() {
  detail::budget_of_thread = nullptr;
  set_observed(false);
}

}  // namespace lite
}  // namespace sconce
