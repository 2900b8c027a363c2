// Budgets of lite libraries, in place of base/budget.cpp and dispatch/budget/budget_scope.cpp: they stand alone, end
// neither with time nor by cancel(), and operators have the kernel that pays from the beginning
// (opgen/faces/records.py).
#include "sconce/lite/lite_budget.h"

#include "sconce/base/error.h"
#include "sconce/dispatch/budget/budget_scope.h"

namespace sconce {
namespace {

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
  const uint64_t count = whole(elements);
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
