#include "long_call.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "sconce/tracing/tracer.h"

namespace sconce::python {
namespace {

// What SIGINT cancels, and the handler that was there: Python's. Scopes do not nest on the main thread: inside of one
// (a hook that calls backward) the outer one stays.
std::atomic<Budget*> cancelled_by_signal{nullptr};
std::atomic<bool> was_interrupted{false};
struct sigaction before;

void on_interrupt(int number, siginfo_t* info, void* context) {
  was_interrupted.store(true, std::memory_order_relaxed);
  if (Budget* budget = cancelled_by_signal.load(std::memory_order_relaxed)) budget->cancel();
  if (before.sa_flags & SA_SIGINFO)
    before.sa_sigaction(number, info, context);
  else
    before.sa_handler(number);
}

bool is_main_thread() { return syscall(SYS_gettid) == getpid(); }

// signal.getsignal(SIGINT) is signal.default_int_handler
bool has_handler_of_python() {
  static PyObject *get = nullptr, *usual = nullptr;
  if (get == nullptr) {
    const Owned module = Owned::take(PyImport_ImportModule("_signal"));
    usual = Owned::take(PyObject_GetAttrString(module.get(), "default_int_handler")).give();
    get = Owned::take(PyObject_GetAttrString(module.get(), "getsignal")).give();
  }
  const Owned number = Owned::take(PyLong_FromLong(SIGINT));
  return Owned::take(PyObject_CallOneArg(get, number.get())).get() == usual;
}

}  // namespace

InterruptScope::InterruptScope() {
  if (!is_main_thread() || cancelled_by_signal.load() != nullptr || !has_handler_of_python()) return;
  auto budget = std::make_shared<Budget>(Limits{});
  was_interrupted = false;
  cancelled_by_signal = budget.get();
  struct sigaction action = {};
  action.sa_sigaction = on_interrupt;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  if (sigaction(SIGINT, &action, &before) != 0 ||
      (!(before.sa_flags & SA_SIGINFO) && (before.sa_handler == SIG_DFL || before.sa_handler == SIG_IGN))) {
    sigaction(SIGINT, &before, nullptr);
    cancelled_by_signal = nullptr;
    return;
  }
  budget_ = std::move(budget);
  active_.emplace(budget_.get());
}

InterruptScope::~InterruptScope() {
  if (!budget_) return;
  sigaction(SIGINT, &before, nullptr);
  cancelled_by_signal = nullptr;
}

void InterruptScope::check() const {
  if (!budget_ || !was_interrupted.load()) return;
  if (PyErr_CheckSignals() == 0) PyErr_SetNone(PyExc_KeyboardInterrupt);
  throw PythonError();
}

bool is_captured() { return tracing::HookScope::is_active(); }

}  // namespace sconce::python
