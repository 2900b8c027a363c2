// EventStream: the body of a response that grows while it is sent: server-sent events (text/event-stream). One thread
// at a time appends events, the connection's thread takes bytes; neither waits for the other.
#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>

#include "sconce/base/function_ref.h"

namespace sconce::server {

class EventStream {
 public:
  static constexpr size_t kMostUnsent = 16 << 20;  // a client that reads so slowly gets no more

  // Whoever takes bytes: how it is woken when it sleeps. Called with the stream's lock.
  void on_wake(std::function<void()> wake) {
    const std::scoped_lock lock(mutex_);
    wake_ = std::move(wake);
  }
  // False: too much waits already.
  bool push(std::string_view json) {
    const std::scoped_lock lock(mutex_);
    if (text_.size() - taken_ > kMostUnsent) return false;
    append(json);
    wake();
    return true;
  }
  // The last event: none follows. Without one: what was pushed before was the last.
  void end(std::string_view json = {}) {
    const std::scoped_lock lock(mutex_);
    if (!json.empty()) append(json);
    ended_ = true;
    wake();
  }

  // How many bytes, up to `size`, were copied. 0: there are none now, and `sleep` was called, with the stream's lock;
  // or all have been taken, and at_end is set.
  size_t take(char* to, size_t size, bool& at_end, FunctionRef<void()> sleep) {
    const std::scoped_lock lock(mutex_);
    const size_t count = std::min(size, text_.size() - taken_);
    std::memcpy(to, text_.data() + taken_, count);
    taken_ += count;
    if (2 * taken_ >= text_.size()) {
      text_.erase(0, taken_);
      taken_ = 0;
    }
    at_end = count == 0 && ended_;
    if (count == 0 && !at_end) {
      asleep_ = true;
      sleep();
    }
    return count;
  }

 private:
  void append(std::string_view json) {
    text_ += "data: ";
    text_ += json;
    text_ += "\n\n";
  }
  void wake() {
    if (asleep_ && wake_) wake_();
    asleep_ = false;
  }

  std::mutex mutex_;
  std::string text_;
  size_t taken_ = 0;
  bool ended_ = false, asleep_ = false;
  std::function<void()> wake_;
};

}  // namespace sconce::server
