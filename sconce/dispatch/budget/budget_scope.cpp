#include "sconce/dispatch/budget/budget_scope.h"

#include <mutex>

#include "sconce/dispatch/budget/pay.h"
#include "sconce/dispatch/registry.h"

namespace sconce {
namespace {

constexpr KeySet kBudget = Key::observe;  // as bits of the thread's modes

// An observer may have taken the key for itself since.
void make_operators_pay() {
  static std::mutex mutex;
  if (const char* there = fallback_kernel(Key::observe); there && boxed_kernel(there) == pay_for_call) return;
  const std::lock_guard lock(mutex);
  set_fallback(Key::observe, pay_for_call);
}

}  // namespace

BudgetScope::BudgetScope(std::shared_ptr<Budget> budget)
    : budget_(std::move(budget)), active_(budget_.get()), include_(thread_modes.include & kBudget.bits()) {
  if (budget_) make_operators_pay();
  thread_modes.include =
      static_cast<uint16_t>((thread_modes.include & ~kBudget.bits()) | (budget_ ? kBudget.bits() : 0));
}

BudgetScope::~BudgetScope() {
  thread_modes.include = static_cast<uint16_t>((thread_modes.include & ~kBudget.bits()) | include_);
}

}  // namespace sconce
