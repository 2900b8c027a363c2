#include "text/progress.h"

#include <chrono>
#include <cstdio>

#include <fmt/format.h>

#include "text/table.h"
#include "text/terminal.h"
#include "text/units.h"

namespace sconce::cli {
namespace {

constexpr double kDelay = 0.3;     // seconds before the line appears
constexpr double kInterval = 0.1;  // between two drawings
constexpr size_t kWidestBar = 40;  // columns
constexpr size_t kNarrowest = 10;  // a bar that says something

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

Progress::Progress(std::string what, uint64_t total, bool shown)
    : what_(std::move(what)), total_(total), shown_(shown && is_terminal(stderr)), start_(shown_ ? now() : 0) {
  next_ = start_ + kDelay;
}

Progress::~Progress() {
  if (!drawn_) return;
  std::fputs("\r\x1b[K", stderr);
  std::fflush(stderr);
}

void Progress::update(uint64_t done, uint64_t total) {
  if (!shown_) return;
  total_ = total;
  const double t = now();
  if (t < next_) return;
  next_ = t + kInterval;
  draw(done, t - start_);
}

void Progress::draw(uint64_t done, double elapsed) {
  std::string tail;
  double share = 0;
  if (total_ > 0) {
    share = std::min(1.0, static_cast<double>(done) / static_cast<double>(total_));
    tail = fmt::format("{:3.0f} %  {}", 100 * share, seconds_text(elapsed));
    if (share > 0) tail += fmt::format(", {} left", seconds_text(elapsed * (1 - share) / share));
  } else {
    tail = fmt::format("{}  {}", count_text(done), seconds_text(elapsed));
  }
  const size_t width = terminal_columns(stderr, 80) - 1;  // the last column would start a new line on some terminals
  const size_t taken = text_width(what_) + text_width(tail) + 4;
  std::string line = what_;
  if (total_ > 0 && width >= taken + kNarrowest) {
    const size_t bar = std::min(kWidestBar, width - taken);
    const auto full = static_cast<size_t>(share * static_cast<double>(bar));
    line += "  " + std::string(full, '#') + std::string(bar - full, '.');
  }
  line += "  " + tail;
  if (text_width(line) > width) line = text_width(tail) <= width ? tail : "";
  fmt::print(stderr, "\r{}\x1b[K", line);
  std::fflush(stderr);
  drawn_ = true;
}

std::function<void(uint64_t, uint64_t)> Progress::reporter() {
  return [this](uint64_t done, uint64_t total) { update(done, total); };
}

}  // namespace sconce::cli
