// The C interface: limits of calls.
#include <algorithm>
#include <mutex>

#include "sconce/api/c_api.h"
#include "sconce/dispatch/budget/budget_scope.h"

struct sconce_limits {
  std::mutex mutex;
  sconce::Limits limits;
  bool cancelled = false;
  std::vector<sconce::Budget*> running;
};

namespace sconce::c_api {
namespace {

// The budget of one call, which sconce_limits_cancel finds.
class RunningBudget {
 public:
  explicit RunningBudget(sconce_limits& limits) : limits_(limits) {
    const std::lock_guard lock(limits.mutex);
    budget = std::make_shared<Budget>(limits.limits);
    if (limits.cancelled) budget->cancel();
    limits.running.push_back(budget.get());
  }
  ~RunningBudget() {
    const std::lock_guard lock(limits_.mutex);
    std::erase(limits_.running, budget.get());
  }
  RunningBudget(const RunningBudget&) = delete;

  std::shared_ptr<Budget> budget;

 private:
  sconce_limits& limits_;
};

}  // namespace

thread_local constinit sconce_limits* limits_in_use = nullptr;

Limits limits_of_loads() {
  if (!limits_in_use) return {};
  const std::lock_guard lock(limits_in_use->mutex);
  return limits_in_use->limits;
}

sconce_status guarded_by_limits(FunctionRef<void()> body) noexcept {
  try {
    const RunningBudget running(*limits_in_use);
    try {
      const BudgetScope scope(running.budget);
      running.budget->poll();
      body();
      return SCONCE_OK;
    } catch (...) {
      const sconce_status status = status_of_exception();
      return running.budget->has_ended() ? SCONCE_LIMIT_REACHED : status;
    }
  } catch (...) {
    return status_of_exception();
  }
}

}  // namespace sconce::c_api

using namespace sconce;
using namespace sconce::c_api;

sconce_status sconce_limits_new(sconce_limits** out) {
  return guarded([&] {
    need(out, "out");
    *out = new sconce_limits;
  });
}

constexpr uint64_t kYear = uint64_t{365} * 24 * 3600 * 1000;  // in milliseconds; more would overflow nanoseconds

sconce_status sconce_limits_set(sconce_limits* limits, sconce_limit what, uint64_t amount) {
  return guarded([&] {
    need(limits, "limits");
    const std::lock_guard lock(limits->mutex);
    switch (what) {
      case SCONCE_LIMIT_MEMORY:
        limits->limits.memory = amount;
        return;
      case SCONCE_LIMIT_WORK:
        limits->limits.work = amount;
        return;
      case SCONCE_LIMIT_STEPS:
        limits->limits.steps = amount;
        return;
      case SCONCE_LIMIT_MILLISECONDS:
        limits->limits.timeout = amount == Limits::kNone ? std::chrono::nanoseconds::max()
                                                         : std::chrono::milliseconds(std::min<uint64_t>(amount, kYear));
        return;
    }
    invalid("there is no limit {}", static_cast<int>(what));
  });
}

sconce_status sconce_use_limits(sconce_limits* limits) {
  limits_in_use = limits;
  return SCONCE_OK;
}

void sconce_limits_cancel(sconce_limits* limits) {
  if (!limits) return;
  const std::lock_guard lock(limits->mutex);
  limits->cancelled = true;
  for (Budget* budget : limits->running) budget->cancel();
}

void sconce_limits_resume(sconce_limits* limits) {
  if (!limits) return;
  const std::lock_guard lock(limits->mutex);
  limits->cancelled = false;
}

void sconce_limits_free(sconce_limits* limits) {
  if (limits_in_use == limits) limits_in_use = nullptr;
  delete limits;
}
