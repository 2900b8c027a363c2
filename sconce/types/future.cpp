// Future: a value that arrives later, for other threads to wait for.
#include "sconce/types/value.h"

namespace sconce {

bool Future::done() const {
  const std::lock_guard lock(mutex_);
  return done_;
}

void Future::complete(Value v) { finish(std::move(v), nullptr); }

void Future::fail(std::exception_ptr error) {
  SCONCE_CHECK(error, "a future fails with an error, got none");
  finish(Value(), std::move(error));
}

void Future::finish(Value v, std::exception_ptr error) {
  std::vector<std::function<void(Future&)>> callbacks;
  {
    const std::lock_guard lock(mutex_);
    SCONCE_CHECK(!done_, "the future already has its result");
    value_ = std::move(v);
    error_ = std::move(error);
    done_ = true;
    callbacks.swap(callbacks_);
  }
  ready_.notify_all();
  for (const auto& callback : callbacks) callback(*this);
}

void Future::wait() const {
  std::unique_lock lock(mutex_);
  ready_.wait(lock, [&] { return done_; });
}

Value Future::value() const {
  std::unique_lock lock(mutex_);
  ready_.wait(lock, [&] { return done_; });
  if (error_) std::rethrow_exception(error_);
  return value_;
}

void Future::then(std::function<void(Future&)> f) {
  {
    const std::lock_guard lock(mutex_);
    if (!done_) {
      callbacks_.push_back(std::move(f));
      return;
    }
  }
  f(*this);
}

}  // namespace sconce
