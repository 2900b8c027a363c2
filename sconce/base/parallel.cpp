#include "sconce/base/parallel.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "sconce/base/budget.h"
#include "sconce/base/error.h"
#include "sconce/base/parallel_grains.h"
#include "sconce/base/thread_limit.h"
#include "sconce/base/variants/variants.h"
#include "sconce/base/workers_awake.h"

namespace sconce {
namespace {

SCONCE_VARIANT(threaded, "parallel.threads", "several threads, and items for more than one of them");

constexpr int max_threads = 1024;
constexpr int spin_rounds = 200;  // about 5 us of `pause` on current x86, the cost of one sleep and wake-up
constexpr int awake_rounds = 20 * spin_rounds;

std::atomic<int> kept_awake{0};  // WorkersAwake that live

using Body = FunctionRef<void(int64_t, int64_t)>;

thread_local bool inside_region = false;
thread_local int thread_limit = max_threads;

void pause_cpu() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// Returns the first value of `word` that differs from `old`.
int wait_for_change(const std::atomic<int>& word, int old) {
  const int rounds = kept_awake.load(std::memory_order_relaxed) > 0 ? awake_rounds : spin_rounds;
  for (int i = 0; i < rounds; i++) {
    int now = word.load(std::memory_order_acquire);
    if (now != old) return now;
    pause_cpu();
  }
  word.wait(old, std::memory_order_acquire);
  return word.load(std::memory_order_acquire);
}

// One parallel_for, on the stack of its caller. A thread may touch it only between claiming a range and counting it as
// done: the caller waits for exactly those, so a worker that wakes up late finds nothing to claim and touches nothing.
struct Region {
  Body body;
  int64_t n;
  int ranges;
  std::atomic<bool> failed{false};
  std::mutex error_mutex{};
  std::exception_ptr error{};
  int error_range = max_threads;

  int64_t begin_of(int range) const { return n / ranges * range + std::min<int64_t>(range, n % ranges); }

  void run(int range) noexcept {
    if (failed.load(std::memory_order_relaxed)) return;
    try {
      body(begin_of(range), begin_of(range + 1));
    } catch (...) {
      std::lock_guard lock(error_mutex);
      failed.store(true, std::memory_order_relaxed);
      if (range < error_range) {
        error = std::current_exception();
        error_range = range;
      }
    }
  }
};

class Pool {
 public:
  int size() const noexcept { return size_.load(std::memory_order_relaxed); }

  void resize(int size) {
    std::lock_guard lock(mutex_);
    try {
      while (static_cast<int>(workers_.size()) < size - 1) {
        int index = static_cast<int>(workers_.size());
        worker_limit_.store(index + 1, std::memory_order_relaxed);
        workers_.emplace_back(&Pool::work, this, index, wake_.load(std::memory_order_relaxed));
      }
    } catch (const std::system_error& error) {
      worker_limit_.store(static_cast<int>(workers_.size()), std::memory_order_relaxed);
      size_.store(static_cast<int>(workers_.size()) + 1, std::memory_order_relaxed);
      SCONCE_CHECK(false, "set_num_threads: the system started {} of {} threads: {}", size_.load(), size, error.what());
    }
    if (static_cast<int>(workers_.size()) > size - 1) {
      worker_limit_.store(size - 1, std::memory_order_relaxed);
      signal();
      for (size_t i = static_cast<size_t>(size - 1); i < workers_.size(); i++) workers_[i].join();
      workers_.resize(static_cast<size_t>(size - 1));
    }
    size_.store(size, std::memory_order_relaxed);
  }

  // False when another thread has the pool; nothing has run then.
  bool try_run(Region& region) {
    std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) return false;
    region.ranges = std::min(region.ranges, static_cast<int>(workers_.size()) + 1);
    region_ = &region;
    done_.store(0, std::memory_order_relaxed);
    epoch_++;
    current_.store(epoch_ << range_bits | static_cast<uint64_t>(region.ranges), std::memory_order_release);
    signal();

    inside_region = true;
    work_on_ranges(0);
    inside_region = false;
    for (int done = done_.load(std::memory_order_acquire); done != region.ranges;) done = wait_for_change(done_, done);
    return true;
  }

 private:
  void signal() {
    wake_.fetch_add(1, std::memory_order_release);
    wake_.notify_all();
  }

  // Begins with range `first`, then takes what others have not begun. So a range is mostly run by the same thread in
  // one loop after the other, whose core has its part of the memory in the cache.
  void work_on_ranges(int first) {
    const uint64_t current = current_.load(std::memory_order_acquire), epoch = current >> range_bits;
    const auto ranges = static_cast<int>(current & (max_threads * 2 - 1));
    for (int i = 0; i < ranges; i++) {
      const int range = (first + i) % ranges;
      uint64_t taken = taken_[range].load(std::memory_order_relaxed);
      // Never in a later region than that of `current`: all ranges of this one are taken when it ends.
      if (taken >= epoch || !taken_[range].compare_exchange_strong(taken, epoch, std::memory_order_acq_rel)) continue;
      region_->run(range);
      const int done = done_.fetch_add(1, std::memory_order_acq_rel) + 1;
      if (done == ranges) done_.notify_all();
    }
  }

  void work(int index, int seen) {
    inside_region = true;
    while (index < worker_limit_.load(std::memory_order_relaxed)) {
      work_on_ranges(index + 1);
      seen = wait_for_change(wake_, seen);
    }
  }

  std::mutex mutex_;  // held by the thread that runs a region or resizes
  std::vector<std::thread> workers_;
  Region* region_ = nullptr;
  uint64_t epoch_ = 0;  // of the region: one more than that of the last
  std::atomic<int> size_{1};
  std::atomic<int> worker_limit_{0};  // workers from this index on end
  static constexpr int range_bits = 11;
  static_assert(max_threads < 1 << range_bits);
  alignas(64) std::atomic<uint64_t> current_{0};               // epoch and number of ranges of the region
  alignas(64) std::atomic<uint64_t> taken_[max_threads] = {};  // the last epoch in which the range was taken
  alignas(64) std::atomic<int> wake_{0};
  alignas(64) std::atomic<int> done_{0};
};

// Never destroyed: static destructors of others may still compute. A forked child has none of the workers and perhaps a
// locked mutex, so it gets a new pool and forgets the old one.
std::atomic<Pool*>& pool_slot() {
  static std::atomic<Pool*> slot = [] {
    pthread_atfork(nullptr, nullptr, [] {
      inside_region = false;
      pool_slot().store(new Pool, std::memory_order_release);
    });
    return new Pool;
  }();
  return slot;
}

std::atomic<bool> no_grains = false;

Pool& pool() { return *pool_slot().load(std::memory_order_acquire); }

}  // namespace

int num_threads() noexcept { return std::min(pool().size(), thread_limit); }

ThreadLimit::ThreadLimit(int most) noexcept : before_(thread_limit) {
  thread_limit = std::clamp(most, 1, thread_limit);
}
ThreadLimit::~ThreadLimit() { thread_limit = before_; }

void set_num_threads(int count) {
  SCONCE_CHECK(count >= 1 && count <= max_threads, "set_num_threads: expected 1 to {} threads, got {}", max_threads,
               count);
  SCONCE_CHECK(!inside_region, "set_num_threads: called inside a parallel region");
  pool().resize(count);
}

void ignore_grains(bool ignore) noexcept { no_grains.store(ignore, std::memory_order_relaxed); }

namespace {

void run_ranges(int64_t n, int64_t grain, Body body) {
  Pool& threads = pool();
  int64_t ranges = std::min<int64_t>(std::min(threads.size(), thread_limit), n / grain);
  if (threaded(ranges > 1 && !inside_region)) {
    Region region{body, n, static_cast<int>(ranges)};
    if (threads.try_run(region)) {
      if (region.error) std::rethrow_exception(region.error);
      return;
    }
  }
  body(0, n);
}

constexpr std::chrono::microseconds kShortPiece(250), kLongPiece(5000);

// Ranges are cut into pieces, between which time and the cancel flag are looked at; memory that a worker takes is
// charged to the budget of the thread that it works for. How long a grain takes is known afterwards only (a polynomial
// of degree 65,536 is an element as well as a sum is), so pieces grow and shrink with the time that they took.
SCONCE_COLD void run_pieces(int64_t n, int64_t grain, Body body, Budget& budget) {
  run_ranges(n, grain, [&](int64_t begin, int64_t end) {
    const ActiveBudget active(&budget);
    int64_t piece = std::max<int64_t>(grain / 16, 1);
    for (auto before = std::chrono::steady_clock::now();;) {
      budget.poll();
      const int64_t stop = end - begin > piece ? begin + piece : end;
      body(begin, stop);
      if (stop == end) return;
      begin = stop;
      const auto now = std::chrono::steady_clock::now();
      const auto took = now - std::exchange(before, now);
      if (took < kShortPiece && piece <= INT64_MAX / 4) piece *= 4;
      if (took > kLongPiece) piece = std::max<int64_t>(piece / 2, 1);
    }
  });
}

}  // namespace

bool in_parallel_region() noexcept { return inside_region; }

namespace {

// Threads beyond the processors sleep: the system would take a processor from one that works.
bool fits_processors() {
  static const int processors = static_cast<int>(std::thread::hardware_concurrency());
  return num_threads() <= processors;
}

}  // namespace

WorkersAwake::WorkersAwake() noexcept : counts_(num_threads() > 1 && fits_processors()) {
  if (counts_) kept_awake.fetch_add(1, std::memory_order_relaxed);
}
WorkersAwake::~WorkersAwake() {
  if (counts_) kept_awake.fetch_sub(1, std::memory_order_relaxed);
}

void parallel_for(int64_t n, int64_t grain, Body body) {
  if (n <= 0) return;
  if (grain < 1 || no_grains.load(std::memory_order_relaxed)) grain = 1;
  if (Budget* budget = Budget::active()) [[unlikely]]
    return run_pieces(n, grain, body, *budget);
  run_ranges(n, grain, body);
}

}  // namespace sconce
