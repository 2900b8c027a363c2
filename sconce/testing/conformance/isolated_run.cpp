#include "sconce/testing/conformance/isolated_run.h"

#if !defined(__wasm__)
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include <fmt/format.h>

#include "sconce/base/error.h"
#include "sconce/testing/process_time.h"

namespace sconce::testing {

#if defined(__wasm__)

// There are no processes: what traps ends the run, and says so by its exit status.
void run_isolated(const std::vector<size_t>& steps, const IsolatedRun& run) {
  for (size_t job = 0; job < steps.size(); ++job) {
    for (size_t step = 0; step < steps[job]; ++step) {
      std::string text, crash;
      try {
        text = run.run(job, step);
      } catch (const std::exception& error) {
        crash = fmt::format("threw {}", error.what());
      }
      run.report(job, step, text, crash);
    }
  }
}

#else

namespace {

using Clock = std::chrono::steady_clock;

struct Order {
  size_t job, first_step;
};

// Whole reads and writes of a pipe. False when the other end is gone.
bool write_all(int fd, const void* data, size_t n) {
  const char* at = static_cast<const char*>(data);
  while (n > 0) {
    const ssize_t done = ::write(fd, at, n);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    at += done;
    n -= static_cast<size_t>(done);
  }
  return true;
}

bool read_all(int fd, void* data, size_t n) {
  char* at = static_cast<char*>(data);
  while (n > 0) {
    const ssize_t done = ::read(fd, at, n);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    at += done;
    n -= static_cast<size_t>(done);
  }
  return true;
}

bool write_text(int fd, const std::string& text) {
  const size_t n = text.size();
  return write_all(fd, &n, sizeof n) && write_all(fd, text.data(), n);
}

bool read_text(int fd, std::string& text) {
  size_t n;
  if (!read_all(fd, &n, sizeof n)) return false;
  text.resize(n);
  return read_all(fd, text.data(), n);
}

std::string how_it_ended(int status) {
  if (WIFSIGNALED(status)) {
    const char* name = ::sigabbrev_np(WTERMSIG(status));
    return fmt::format("died of SIG{}", name ? name : std::to_string(WTERMSIG(status)).c_str());
  }
  return fmt::format("exited with status {}", WEXITSTATUS(status));
}

class Worker {
 public:
  Worker(const std::vector<size_t>& steps, const IsolatedRun& run) : steps_(steps), run_(run) {}
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker() { stop(); }

  bool is_busy() const { return busy_; }
  int fd() const { return results_; }
  // When to look whether the step hangs.
  Clock::time_point deadline() const { return deadline_; }
  // At the deadline: it has computed for the whole limit, or nothing since the last look. Others are slow on a busy
  // machine, and looked at again later.
  bool hangs() {
    const double limit = std::chrono::duration<double>(run_.step_limit).count();
    const double computed = processor_seconds(pid_) - computed_before_;
    if (computed >= limit || computed < seen_ + 0.01) return true;
    seen_ = computed;
    deadline_ = Clock::now() + run_.step_limit;
    return false;
  }
  const Order& at() const { return at_; }

  void begin(Order order) {
    at_ = order;
    busy_ = true;
    if (pid_ < 0) start();
    restart_clock();
    if (!write_all(orders_, &order, sizeof order)) restart_clock();  // it died: reading its results will tell
  }

  // Takes one result. False when the worker died; it is reaped then, and `crash` says how.
  bool take(std::string& text, std::string& crash) {
    if (read_text(results_, text)) return true;
    crash = reap();
    return false;
  }

  void kill() { ::kill(pid_, SIGKILL); }

  std::string reap() {
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    close_pipes();
    pid_ = -1;
    return how_it_ended(status);
  }

  // Moves on to the next step; false when the job is done.
  bool advance() {
    restart_clock();
    busy_ = ++at_.first_step < steps_[at_.job];
    return busy_;
  }

  void stop() {
    if (pid_ < 0) return;
    kill();  // it has nothing to finish; hanging up would not do, as later workers hold its pipe open, too
    reap();
  }

 private:
  void start() {
    int to_child[2], from_child[2];
    SCONCE_CHECK(::pipe2(to_child, O_CLOEXEC) == 0, "cannot make a pipe: {}", std::strerror(errno));
    if (::pipe2(from_child, O_CLOEXEC) != 0) {
      ::close(to_child[0]);
      ::close(to_child[1]);
      fail("cannot make a pipe: {}", std::strerror(errno));
    }
    std::fflush(nullptr);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(to_child[1]);
      ::close(from_child[0]);
      work(to_child[0], from_child[1]);
    }
    ::close(to_child[0]);
    ::close(from_child[1]);
    orders_ = to_child[1];
    results_ = from_child[0];
    if (pid_ < 0) {
      close_pipes();
      fail("cannot start a process: {}", std::strerror(errno));
    }
  }

  // The child's life: orders in, results out, until the parent hangs up.
  [[noreturn]] void work(int orders, int results) const {
    Order order;
    while (read_all(orders, &order, sizeof order)) {
      for (size_t step = order.first_step; step < steps_[order.job]; ++step) {
        std::string text;
        try {
          text = run_.run(order.job, step);
        } catch (...) {
          std::abort();
        }
        if (!write_text(results, text)) ::_exit(1);
      }
    }
    ::_exit(0);
  }

  void restart_clock() {
    deadline_ = Clock::now() + run_.step_limit;
    computed_before_ = processor_seconds(pid_);
    seen_ = 0;
  }

  void close_pipes() {
    if (orders_ >= 0) ::close(orders_);
    if (results_ >= 0) ::close(results_);
    orders_ = results_ = -1;
  }

  const std::vector<size_t>& steps_;
  const IsolatedRun& run_;
  pid_t pid_ = -1;
  int orders_ = -1, results_ = -1;
  bool busy_ = false;
  Order at_{};
  Clock::time_point deadline_;
  double computed_before_ = 0;  // of processor time, by steps before this one
  double seen_ = 0;             // by this one, at the last look
};

// Writing to a worker that died must give an error, not end this process.
class IgnorePipeSignal {
 public:
  IgnorePipeSignal() : saved_(std::signal(SIGPIPE, SIG_IGN)) {}
  ~IgnorePipeSignal() { std::signal(SIGPIPE, saved_); }

 private:
  void (*saved_)(int);
};

class Parent {
 public:
  Parent(const std::vector<size_t>& steps, const IsolatedRun& run) : run_(run) {
    for (size_t job = steps.size(); job-- > 0;) {
      if (steps[job] > 0) orders_.push_back({job, 0});
    }
    const size_t n = std::min(orders_.size(), static_cast<size_t>(std::max(run.workers, 1)));
    for (size_t i = 0; i < n; ++i) workers_.push_back(std::make_unique<Worker>(steps, run));
  }

  void run() {
    const IgnorePipeSignal ignore;
    while (give_orders()) {
      wait_for_results();
      end_hanging_workers();
    }
  }

 private:
  bool give_orders() {
    bool any = false;
    for (auto& worker : workers_) {
      if (!worker->is_busy() && !orders_.empty()) {
        worker->begin(orders_.back());
        orders_.pop_back();
      }
      any |= worker->is_busy();
    }
    return any;
  }

  void wait_for_results() {
    std::vector<pollfd> polls;
    std::vector<Worker*> polled;
    auto next = Clock::time_point::max();
    for (auto& worker : workers_) {
      if (!worker->is_busy()) continue;
      polls.push_back({worker->fd(), POLLIN, 0});
      polled.push_back(worker.get());
      next = std::min(next, worker->deadline());
    }
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(next - Clock::now()).count() + 1;
    ::poll(polls.data(), polls.size(), static_cast<int>(std::clamp<int64_t>(left, 0, 60'000)));
    for (size_t i = 0; i < polls.size(); ++i) {
      if (polls[i].revents != 0) take_result(*polled[i]);
    }
  }

  void take_result(Worker& worker) {
    std::string text, crash;
    const bool alive = worker.take(text, crash);
    finish_step(worker, text, crash, alive);
  }

  void end_hanging_workers() {
    for (auto& worker : workers_) {
      if (!worker->is_busy() || Clock::now() < worker->deadline() || !worker->hangs()) continue;
      worker->kill();
      worker->reap();
      const double limit = std::chrono::duration<double>(run_.step_limit).count();
      finish_step(*worker, "", fmt::format("no end after {:g} s", limit), false);
    }
  }

  // The worker, or a new one in its place, goes on with the next step.
  void finish_step(Worker& worker, const std::string& text, const std::string& crash, bool alive) {
    const Order at = worker.at();
    run_.report(at.job, at.first_step, text, crash);
    if (worker.advance() && !alive) worker.begin(worker.at());
  }

  const IsolatedRun& run_;
  std::vector<Order> orders_;  // the next one is the last
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace

void run_isolated(const std::vector<size_t>& steps, const IsolatedRun& run) { Parent(steps, run).run(); }

#endif

}  // namespace sconce::testing
