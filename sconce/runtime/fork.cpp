#include "sconce/runtime/fork.h"

#include <pthread.h>

#include <condition_variable>
#include <thread>

#include "sconce/base/budget.h"
#include "sconce/runtime/execute.h"

namespace sconce::runtime {
namespace {

// Nested waits that run tasks on one stack; the next one gets a thread, and a stack, of its own.
constexpr int kDeepest = 50;
thread_local int depth = 0;

#if defined(__wasm__)
constexpr bool kHasThreads = false;  // a task runs when it is forked
#else
constexpr bool kHasThreads = true;
#endif

struct Task {
  std::shared_ptr<Code> code;
  std::vector<Value> args;
  Ref<Future> future;  // of an awaitable: set when a thread waits
  ThreadModes modes;
  std::shared_ptr<Budget> budget;  // of the run that forked it; may be null
  RunOptions options;
  std::shared_ptr<Task> next_dropped;
};
using TaskPtr = std::shared_ptr<Task>;

class Pool;
constinit std::atomic<Pool*> made_pool{nullptr};

class Pool {
 public:
  // Never destroyed: workers may outlive main. A forked child has none of the workers and perhaps a locked mutex, so it
  // gets a new pool when it needs one; what was begun before stays unfinished there.
  static Pool& instance() {
    if (Pool* pool = made_pool.load(std::memory_order_acquire)) return *pool;
    static const bool follows_forks =
        pthread_atfork(nullptr, nullptr, [] { made_pool.store(nullptr, std::memory_order_release); }) == 0;
    if (!follows_forks) throw std::bad_alloc();
    auto fresh = std::make_unique<Pool>();
    Pool* before = nullptr;
    if (made_pool.compare_exchange_strong(before, fresh.get(), std::memory_order_acq_rel)) return *fresh.release();
    return *before;
  }
  // Null when nothing was forked.
  static Pool* existing() noexcept { return made_pool.load(std::memory_order_acquire); }

  // Throws when there is no memory, or no thread; the task is in no list then.
  void add(TaskPtr task) {
    const std::lock_guard lock(mutex_);
    if (workers_ == 0) start_workers();
    const auto [entry, is_new] = waiting_.emplace(task->future.get(), task);
    try {
      queue_.push_back(task);
      count_unfinished(task->code->unit);
    } catch (...) {
      if (!queue_.empty() && queue_.back() == task) queue_.pop_back();
      waiting_.erase(entry);
      throw;
    }
    ready_.notify_one();
  }

  void add_lazy(Future* future, TaskPtr task) {
    const std::lock_guard lock(mutex_);
    waiting_.emplace(future, std::move(task));
  }
  void forget(Future* future) {
    TaskPtr gone;  // destroyed behind the lock: its arguments may be awaitables
    const std::lock_guard lock(mutex_);
    const auto found = waiting_.find(future);
    if (found == waiting_.end()) return;
    gone = std::move(found->second);
    waiting_.erase(found);
  }

  // The task behind a future, for the caller to run; null when it has begun.
  TaskPtr claim(Future* future) {
    const std::lock_guard lock(mutex_);
    const auto found = waiting_.find(future);
    if (found == waiting_.end()) return nullptr;
    if (!found->second->future) {  // an awaitable
      count_unfinished(found->second->code->unit);
      found->second->future = Ref<Future>::share(future);
    }
    TaskPtr task = std::move(found->second);
    waiting_.erase(found);
    std::erase(queue_, task);
    return task;
  }

  void run(const TaskPtr& task) {
    const ThreadModes modes = thread_modes;
    thread_modes = task->modes;
    const ActiveBudget budget(task->budget.get());
    try {
      Value result = execute(*task->code, task->args, task->options);
      task->future->complete(std::move(result));
    } catch (...) {
      fail(*task->future, std::current_exception());
    }
    thread_modes = modes;
    end(task);
  }
  // For a task that was claimed and cannot run.
  void give_up(const TaskPtr& task, std::exception_ptr error) noexcept {
    fail(*task->future, std::move(error));
    end(task);
  }

  // Programs end with this, perhaps because there is no memory: it takes none.
  void finish(const ir::CompilationUnit* unit) noexcept {
    TaskPtr dropped;  // a list
    {
      const std::lock_guard lock(mutex_);
      if (waiting_.empty() && unfinished_.empty()) return;
      for (auto at = waiting_.begin(); at != waiting_.end();) {
        if (at->second->code->unit == unit) {
          if (at->second->future) count_finished(unit);
          std::erase(queue_, at->second);
          at->second->next_dropped = std::move(dropped);
          dropped = std::move(at->second);
          at = waiting_.erase(at);
        } else {
          ++at;
        }
      }
    }
    while (dropped) {
      const TaskPtr next = std::move(dropped->next_dropped);
      if (dropped->future) fail(*dropped->future, gone());
      dropped = next;
    }
    std::unique_lock lock(mutex_);
    finished_.wait(lock, [&] { return !unfinished_.contains(unit); });
  }

 private:
  static std::exception_ptr gone() noexcept {
    try {
      return std::make_exception_ptr(Error(ErrorKind::runtime, "the program that was forked is gone"));
    } catch (...) {
      return std::make_exception_ptr(std::bad_alloc());
    }
  }
  static void fail(Future& future, std::exception_ptr error) noexcept {
    try {
      future.fail(std::move(error));
    } catch (...) {
      // A callback threw, now or when the future got its result: nobody is there to hear of it.
    }
  }

  void end(const TaskPtr& task) noexcept {
    const ir::CompilationUnit* unit = task->code->unit;
    task->args.clear();
    task->code.reset();
    const std::lock_guard lock(mutex_);
    count_finished(unit);
    finished_.notify_all();
  }

  void count_unfinished(const ir::CompilationUnit* unit) { ++unfinished_[unit]; }
  void count_finished(const ir::CompilationUnit* unit) noexcept {
    const auto found = unfinished_.find(unit);
    if (--found->second == 0) unfinished_.erase(found);
  }

  // One worker is enough, if the system has no more.
  void start_workers() {
    if constexpr (!kHasThreads) return;
    const unsigned count = std::max(1u, std::thread::hardware_concurrency());
    for (unsigned i = 0; i < count; ++i) {
      try {
        std::thread([this] { work(); }).detach();
      } catch (...) {
        if (workers_ == 0) throw;
        return;
      }
      ++workers_;
    }
  }

  void work() {
    for (;;) {
      TaskPtr task;
      {
        std::unique_lock lock(mutex_);
        ready_.wait(lock, [&] { return !queue_.empty(); });
        task = std::move(queue_.front());
        queue_.pop_front();
        waiting_.erase(task->future.get());
      }
      run(task);
    }
  }

  std::mutex mutex_;
  std::condition_variable ready_, finished_;
  std::deque<TaskPtr> queue_;
  std::unordered_map<Future*, TaskPtr> waiting_;  // not begun
  std::unordered_map<const ir::CompilationUnit*, size_t> unfinished_;
  unsigned workers_ = 0;
};

TaskPtr make_task(const BuildSite& site, std::vector<Value> args, RunOptions options) {
  Budget::charge_memory(sizeof(Task) + sizeof(Future) + args.size() * sizeof(Value));
  auto task = std::make_shared<Task>();
  task->code = site.code;
  task->args = std::move(args);
  task->modes = thread_modes;
  if (Budget* budget = Budget::active()) task->budget = budget->shared_from_this();
  task->options = options;
  return task;
}

// Lives in the callbacks of an awaitable's future, and goes with it.
struct Forgetter {
  Future* future;
  ~Forgetter() {
    if (Pool* pool = Pool::existing()) pool->forget(future);
  }
};

}  // namespace

Value start_fork(const BuildSite& site, std::vector<Value> args, RunOptions options) {
  TaskPtr task = make_task(site, std::move(args), options);
  task->future = make_ref<Future>(site.type);
  Ref<Future> future = task->future;
  Pool::instance().add(std::move(task));
  if constexpr (!kHasThreads) {
    try {
      wait_for(future);
    } catch (...) {  // for whoever waits
    }
  }
  return future;
}

Value make_await(const BuildSite& site, std::vector<Value> args, RunOptions options) {
  Pool& pool = Pool::instance();  // before its Forgetter
  Ref<Future> future = make_ref<Future>(site.type);
  future->then([held = std::make_shared<Forgetter>(future.get())](Future&) {});
  pool.add_lazy(future.get(), make_task(site, std::move(args), options));
  return future;
}

Value wait_for(const Value& value) {
  Future& future = value.to_future();
  if (!future.done()) {
    if (const TaskPtr task = Pool::instance().claim(&future)) {
      if (depth < kDeepest) {
        ++depth;
        Pool::instance().run(task);
        --depth;
      } else {
        std::thread thread;
        try {
          thread = std::thread([&] { Pool::instance().run(task); });
        } catch (...) {
          Pool::instance().give_up(task, std::current_exception());
        }
        if (thread.joinable()) thread.join();
      }
    }
  }
  return future.value();
}

void finish_tasks(const ir::CompilationUnit* unit) {
  if (Pool* pool = Pool::existing()) pool->finish(unit);
}

}  // namespace sconce::runtime
