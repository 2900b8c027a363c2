#include "server/run/log.h"

#include <unistd.h>

#include <chrono>
#include <ctime>

#include <fmt/format.h>

namespace sconce::server {
namespace {

// "2026-01-02T03:04:05.678Z"
std::string time_text() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
  const auto seconds = static_cast<std::time_t>(ms / 1000);
  std::tm utc = {};
  gmtime_r(&seconds, &utc);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday,
                     utc.tm_hour, utc.tm_min, utc.tm_sec, ms % 1000);
}

}  // namespace

Log::Line::Line(Log* log, const char* level, std::string_view event) : log_(log->file_ < 0 ? nullptr : log) {
  out_.open('{').key("time").text(log_ ? time_text() : "").key("level").text(level).key("event").text(event);
}
Log::Line::~Line() {
  if (!log_) return;
  out_.close('}');
  log_->write(out_.take() + "\n");
}

void Log::write(const std::string& line) {
  const std::scoped_lock lock(mutex_);
  for (size_t done = 0; done < line.size();) {
    const ssize_t n = ::write(file_, line.data() + done, line.size() - done);
    if (n <= 0) return;  // nobody is left to be told
    done += static_cast<size_t>(n);
  }
}

}  // namespace sconce::server
