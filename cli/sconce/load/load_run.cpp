#include "load/load_run.h"

#include <poll.h>
#include <sys/prctl.h>

#include <deque>
#include <random>

#include "sconce/base/error.h"

namespace sconce::cli {
namespace {

using Clock = std::chrono::steady_clock;
using Nanoseconds = std::chrono::nanoseconds;

// When requests are due, one after the other.
class Schedule {
 public:
  Schedule(const LoadPlan& plan, Clock::time_point start) : plan_(plan), start_(start), next_(start) {}
  Clock::time_point next() const { return next_; }
  void advance() {
    ++count_;
    if (plan_.poisson) {
      // Seeded: two runs have the same times.
      offset_ += std::exponential_distribution<double>(plan_.rate)(random_);
      next_ = start_ + Nanoseconds(static_cast<int64_t>(1e9 * offset_));
    } else {
      next_ = start_ + Nanoseconds(static_cast<int64_t>(1e9 * static_cast<double>(count_) / plan_.rate));
    }
  }

 private:
  const LoadPlan& plan_;
  Clock::time_point start_, next_;
  uint64_t count_ = 0;
  double offset_ = 0;
  std::mt19937_64 random_{1};
};

}  // namespace

LoadResult run_load(const LoadPlan& plan, const std::function<void(double)>& progress) {
  struct Slot {
    std::unique_ptr<HttpClient> client;
    Clock::time_point due, sent;
  };
  const Addresses addresses = resolve(plan.url);
  std::vector<Slot> slots(plan.connections);
  for (Slot& slot : slots) slot.client = std::make_unique<HttpClient>(addresses.get());
  std::vector<size_t> idle;
  for (size_t i = slots.size(); i-- > 0;) idle.push_back(i);
  LoadResult result;
  std::deque<Clock::time_point> waiting;  // due, and no connection is free
  const Clock::time_point start = Clock::now(), end = start + plan.duration;
  Clock::time_point last = start, told = start;
  Schedule schedule(plan, start);
  // The system lets a thread sleep 50 us longer than it asked for, which would be counted as the server's.
  prctl(PR_SET_TIMERSLACK, 1000);
  std::vector<pollfd> files;
  std::vector<size_t> polled;
  size_t turn = 0;
  for (;;) {
    Clock::time_point now = Clock::now();
    if (plan.rate > 0) {
      for (; schedule.next() <= now && schedule.next() < end; schedule.advance()) {
        waiting.push_back(schedule.next());
        ++result.due;
      }
    } else if (now < end) {
      for (size_t i = waiting.size(); i < idle.size(); ++i) waiting.push_back(now), ++result.due;
    }
    for (; !waiting.empty() && !idle.empty(); waiting.pop_front(), idle.pop_back()) {
      Slot& slot = slots[idle.back()];
      slot.due = waiting.front();
      slot.sent = now;
      slot.client->send(plan.requests[turn++ % plan.requests.size()]);
      ++result.sent;
    }
    if (now - told > std::chrono::milliseconds(50)) {
      told = now;
      progress(std::min(1.0, std::chrono::duration<double>(now - start) / plan.duration));
    }
    const bool over = now >= end;
    if (over) waiting.clear();  // due, and never sent
    if (over && (idle.size() == slots.size() || now >= end + plan.timeout)) break;

    files.clear();
    polled.clear();
    for (size_t i = 0; i < slots.size(); ++i) {
      if (!slots[i].client->is_busy()) continue;
      files.push_back({slots[i].client->file(), slots[i].client->events(), 0});
      polled.push_back(i);
    }
    Nanoseconds wait = std::chrono::milliseconds(50);
    // With all connections busy, those that are due meanwhile wait anyway.
    if (plan.rate > 0 && schedule.next() < end && !idle.empty())
      wait = std::min<Nanoseconds>(wait, schedule.next() - Clock::now());
    wait = std::max(wait, Nanoseconds(0));
    const timespec time{wait.count() / 1'000'000'000, wait.count() % 1'000'000'000};
    ppoll(files.data(), files.size(), &time, nullptr);
    now = Clock::now();
    for (size_t k = 0; k < polled.size(); ++k) {
      Slot& slot = slots[polled[k]];
      const bool late = now - slot.sent > plan.timeout;
      if (!late && files[k].fd >= 0 && !files[k].revents) continue;
      if (late) {
        slot.client->close();
        ++result.timed_out;
      } else if (!slot.client->step()) {
        continue;
      } else {
        ++result.statuses[slot.client->status()];
        if (slot.client->status() == 200)
          result.latency.add(static_cast<uint64_t>(Nanoseconds(now - slot.due).count()));
        last = now;
      }
      idle.push_back(polled[k]);
    }
  }
  result.seconds = std::chrono::duration<double>(last - start).count();
  return result;
}

}  // namespace sconce::cli
