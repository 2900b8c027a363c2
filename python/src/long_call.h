// Long calls: work of C++ during which other threads of Python run, and which Ctrl-C ends.
//
// Note [Ctrl-C]
// Python notes SIGINT and acts when the main thread is back in its own code. A call that may take long runs under a
// budget without limits (base/budget.h), which kernels and the interpreter look at; meanwhile SIGINT also cancels that.
// The Error that follows becomes KeyboardInterrupt. So it is only on the main thread, and only while SIGINT has
// Python's own handler: one of the user's may want the call to go on.
#pragma once

#include <optional>

#include "object.h"
#include "sconce/base/budget.h"

namespace sconce::python {

// Elements of work that are worth letting other threads of Python run meanwhile: 20 us, at about 1,000 elements each.
inline constexpr double kLongWork = 20'000;
// And those for which Ctrl-C has to be looked at: a few milliseconds.
inline constexpr double kVeryLongWork = 2'000'000;

// While it lives, SIGINT cancels what this thread does; needs Python's lock to begin and to end.
class InterruptScope {
 public:
  InterruptScope();
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  bool is_active() const { return budget_ != nullptr; }
  // After an Error: throws PythonError (KeyboardInterrupt) if Ctrl-C was its reason.
  void check() const;

 private:
  std::shared_ptr<Budget> budget_;
  std::optional<ActiveBudget> active_;
};

template <class F>
auto run_interruptible(F&& f) {
  const InterruptScope scope;
  try {
    const Unlocked unlocked;
    return f();
  } catch (const std::exception&) {
    scope.check();
    throw;
  }
}

// Is a capture recording this thread's calls? Its recorder makes objects of Python, so that the lock stays.
bool is_captured();

// Runs f, without Python's lock and with an eye on Ctrl-C as the work demands.
template <class F>
auto run_long(double work, F&& f) {
  if (work <= kLongWork) [[likely]]
    return f();
  if (is_captured()) return f();
  if (work > kVeryLongWork) return run_interruptible(f);
  const Unlocked unlocked;
  return f();
}

}  // namespace sconce::python
