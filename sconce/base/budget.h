// Budget: resource limits of a call or a load. It counts steps of the interpreter, elements of work, bytes of memory
// and time, and ends what runs under it with an Error as soon as one of them is used up, or when it is cancelled.
//
//   const auto budget = std::make_shared<Budget>(Limits{.memory = 2ull << 30, .timeout = std::chrono::seconds(5)});
//   const BudgetScope scope(budget);  // dispatch/budget/budget_scope.h
//   module(x);                        // throws Error when it wants more; budget->cancel() ends it from another thread
//
// A thread has one active budget, or none: then nothing is counted, and a look at one pointer is all that is paid.
// Tasks that a program forks and the threads of parallel_for draw from the budget of the thread that started them.
// Inside of another budget, a new one pays into both.
//
// Note [What is counted]
//   steps   loop iterations and calls, and one more for every 64 instructions of the loop's body or of the callee
//   work    elements: an operator pays before it begins, for the elements of its tensors (views that repeat elements
//           count in full) or what the table's column `work` says; new memory is an element for each 4 bytes
//   memory  of tensors: the bytes that are held more than when the budget began (what is freed under it is given back);
//           tensors of up to 960 bytes, lists, strings and other values: the bytes taken. Where these alone seem to
//           reach the limit, the C library is asked how much really is in use, and the count corrected
//   time    is looked at with every operator, every 1,024 steps and between pieces of a parallel_for
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>

#include "sconce/base/export.h"

namespace sconce {

class ErrorArg;

struct Limits {
  static constexpr uint64_t kNone = UINT64_MAX;
  static constexpr double kMost = 9e18;  // more is as good as endless
  uint64_t memory = kNone;               // bytes
  uint64_t work = kNone;                 // elements
  uint64_t steps = kNone;
  std::chrono::nanoseconds timeout = std::chrono::nanoseconds::max();

  bool any() const {
    return memory != kNone || work != kNone || steps != kNone || timeout != std::chrono::nanoseconds::max();
  }
};

class SCONCE_API Budget : public std::enable_shared_from_this<Budget> {
 public:
  // Time runs from here. `whose` stands in messages: "the call", "loading model.pt".
  explicit Budget(const Limits& limits, std::string whose = "the call");
  Budget(const Budget&) = delete;

  // The budget of this thread; null: there are no limits.
  static Budget* active() noexcept;

  // Ends what runs under the budget, and what begins under it, from any thread.
  void cancel() noexcept { stopped_.store(true, std::memory_order_relaxed); }
  // Whether an Error was thrown because something was used up, or after cancel(), also of a budget within this one.
  bool has_ended() const noexcept { return ended_.load(std::memory_order_relaxed); }

  // Only operators with Trait::loads may be called, as by the __setstate__ of a file that nobody vouches for.
  void allow_loading_only() noexcept { loading_only_ = true; }
  bool is_for_loading_only() const noexcept { return loading_only_; }

  // What follows throws Error when the rest does not suffice; nothing is taken then.
  void take_memory(uint64_t bytes);         // for a value
  void take_tensor_memory(uint64_t bytes);  // for the storage of a tensor; also counts as work
  void give_tensor_memory(uint64_t bytes) noexcept;
  void take_work(double elements);
  void take_steps(uint64_t count);
  void poll();  // cancelled, or out of time?

  bool counts_steps() const noexcept { return limits_.steps != Limits::kNone || (outer_ && outer_->counts_steps()); }
  // Whether more than time and cancel() can end what runs under it.
  bool counts() const noexcept {
    return limits_.memory != Limits::kNone || limits_.work != Limits::kNone || limits_.steps != Limits::kNone ||
           loading_only_ || (outer_ && outer_->counts());
  }
  const std::atomic<bool>& stopped() const noexcept { return stopped_; }

  // The same for the active budget, if there is one: called before memory is taken whose size a program decides.
  static void charge_memory(uint64_t bytes) {
    if (Budget* b = active()) [[unlikely]]
      b->take_memory(bytes);
  }
  static void charge_memory(uint64_t count, uint64_t size) {
    if (Budget* b = active()) [[unlikely]] {
      uint64_t bytes = 0;
      b->take_memory(__builtin_mul_overflow(count, size, &bytes) ? static_cast<uint64_t>(INT64_MAX) : bytes);
    }
  }
  static void charge_work(double elements) {
    if (Budget* b = active()) [[unlikely]]
      b->take_work(elements);
  }
  // For loops of kernels that may run long.
  static void poll_active() {
    if (Budget* b = active()) [[unlikely]]
      b->poll();
  }

 private:
  [[noreturn]] SCONCE_COLD void end(const char* why, std::initializer_list<ErrorArg> args);
  static uint64_t heap_in_use() noexcept;
  static uint64_t whole(double elements) noexcept;
  void need_work(uint64_t elements, uint64_t wanted, const char* refusal);
  void need_memory(uint64_t bytes, bool for_tensor, const char* refusal);
  bool count_again() noexcept;

  const Limits limits_;
  const std::string whose_;
  const std::shared_ptr<Budget> outer_;
  const std::chrono::steady_clock::time_point deadline_;
  [[maybe_unused]] const bool has_deadline_;  // lite libraries never have one
  bool loading_only_ = false;
  std::atomic<bool> stopped_{false}, ended_{false};
  std::atomic<uint64_t> steps_{0}, work_{0};
  std::atomic<int64_t> tensors_{0}, values_{0};  // bytes
  uint64_t in_use_before_ = 0;                   // of the C library's heap
};

namespace detail {
extern SCONCE_API thread_local constinit Budget* budget_of_thread;
}
inline Budget* Budget::active() noexcept { return detail::budget_of_thread; }

// Makes a budget (or none, if null) the active one of this thread for a scope. BudgetScope does more: operators pay
// only under that one.
class SCONCE_API ActiveBudget {
 public:
  explicit ActiveBudget(Budget* budget) noexcept : before_(detail::budget_of_thread) {
    detail::budget_of_thread = budget;
  }
  ~ActiveBudget() { detail::budget_of_thread = before_; }
  ActiveBudget(const ActiveBudget&) = delete;

 private:
  Budget* before_;
};

// "2G", "512MiB", "1e9", "100k": a number with a letter that multiplies it, by powers of 1024 (`binary`) or of 1000.
// "5s", "200ms", "2m", "1h", "1.5": a time; seconds without a letter. Throw Error (value) that says what is expected.
SCONCE_API uint64_t parse_amount(const std::string& text, bool binary);
SCONCE_API std::chrono::nanoseconds parse_duration(const std::string& text);

}  // namespace sconce
