#include "sconce/base/budget.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "sconce/base/error.h"

namespace sconce {
namespace {

double leading_number(const std::string& text, const char** rest) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  *rest = end;
  return end == text.c_str() || !std::isfinite(number) ? -1 : number;
}

}  // namespace

namespace detail {
thread_local constinit Budget* budget_of_thread = nullptr;
}

Budget::Budget(const Limits& limits, std::string whose)
    : limits_(limits),
      whose_(std::move(whose)),
      outer_(active() ? active()->weak_from_this().lock() : nullptr),  // active ones are shared
      deadline_(limits.timeout == std::chrono::nanoseconds::max()
                    ? std::chrono::steady_clock::time_point::max()
                    : std::chrono::steady_clock::now() +
                          std::min<std::chrono::nanoseconds>(limits.timeout, std::chrono::hours(24 * 365))),
      has_deadline_(limits.timeout != std::chrono::nanoseconds::max()),
      loading_only_(outer_ && outer_->loading_only_) {
  if (limits_.memory != Limits::kNone) in_use_before_ = heap_in_use();
}

void Budget::end(const char* why, std::initializer_list<ErrorArg> args) {
  for (Budget* b = this; b; b = b->outer_.get()) b->ended_.store(true, std::memory_order_relaxed);
  fail("{}: {}", whose_, format_message(why, args));
}

void Budget::take_memory(uint64_t bytes) {
  if (outer_) outer_->take_memory(bytes);
  need_memory(bytes, false, "the memory limit of {} bytes does not allow {} more: {} are left");
  if (limits_.memory != Limits::kNone) values_.fetch_add(static_cast<int64_t>(bytes), std::memory_order_relaxed);
}

void Budget::take_tensor_memory(uint64_t bytes) {
  if (outer_) outer_->take_tensor_memory(bytes);
  need_work(bytes / 4 + (bytes % 4 != 0), bytes,
            "the work limit of {} elements does not allow a tensor of {} bytes: {} are left");
  need_memory(bytes, true, "the memory limit of {} bytes does not allow a tensor of {} more: {} are left");
  if (limits_.memory != Limits::kNone) tensors_.fetch_add(static_cast<int64_t>(bytes), std::memory_order_relaxed);
  if (limits_.work != Limits::kNone) work_.fetch_add(bytes / 4, std::memory_order_relaxed);
}

void Budget::give_tensor_memory(uint64_t bytes) noexcept {
  if (outer_) outer_->give_tensor_memory(bytes);
  tensors_.fetch_sub(static_cast<int64_t>(bytes), std::memory_order_relaxed);
}

void Budget::take_work(double elements) {
  if (outer_) outer_->take_work(elements);
  const uint64_t count = whole(elements);
  need_work(count, count, "the work limit of {} elements does not allow {} more: {} are left");
  work_.fetch_add(count, std::memory_order_relaxed);
}

void Budget::take_steps(uint64_t count) {
  poll();
  for (Budget* b = this; b; b = b->outer_.get()) {
    if (b->limits_.steps == Limits::kNone) continue;
    const uint64_t before = b->steps_.fetch_add(count, std::memory_order_relaxed);
    if (before >= b->limits_.steps || count > b->limits_.steps - before)
      b->end("the step limit of {} (loop iterations and calls) is used up", {b->limits_.steps});
  }
}

void Budget::poll() {
  if (outer_) outer_->poll();
  if (stopped_.load(std::memory_order_relaxed)) end("was cancelled", {});
  if (has_deadline_ && std::chrono::steady_clock::now() >= deadline_)
    end("the time limit of {} ms is over",
        {std::chrono::duration_cast<std::chrono::milliseconds>(limits_.timeout).count()});
}

uint64_t parse_amount(const std::string& text, bool binary) {
  const char* rest = nullptr;
  double number = leading_number(text, &rest);
  std::string unit(rest);
  if (binary && (unit.ends_with("B") || unit.ends_with("b"))) unit.pop_back();
  const bool explicit_binary = unit.ends_with("i");
  if (explicit_binary) unit.pop_back();
  constexpr std::string_view kLetters = "kMGTP";
  if (unit == "K") unit = "k";
  if (!unit.empty()) {
    const size_t power = unit.size() == 1 ? kLetters.find(unit[0]) : std::string_view::npos;
    number = power == std::string_view::npos
                 ? -1
                 : number * std::pow(binary ? 1024.0 : 1000.0, static_cast<double>(power + 1));
  } else if (explicit_binary) {
    number = -1;
  }
  SCONCE_CHECK_AS(value, number >= 0 && number < Limits::kMost,
                  "'{}' is no amount: expected a number, perhaps with one of k, M, G, T, such as 2G", text);
  return static_cast<uint64_t>(number);
}

std::chrono::nanoseconds parse_duration(const std::string& text) {
  const char* rest = nullptr;
  const double number = leading_number(text, &rest);
  const std::string unit(rest);
  const double seconds = unit.empty() || unit == "s"    ? 1
                         : unit == "ms"                 ? 1e-3
                         : unit == "us"                 ? 1e-6
                         : unit == "m" || unit == "min" ? 60
                         : unit == "h"                  ? 3600
                                                        : -1;
  SCONCE_CHECK_AS(value, number >= 0 && seconds > 0 && number * seconds < 1e9,
                  "'{}' is no time: expected a number with one of ms, s, m, h, such as 5s or 200ms", text);
  return std::chrono::nanoseconds(static_cast<int64_t>(number * seconds * 1e9));
}

}  // namespace sconce
