#include "sconce/runtime/fork.h"

#include <condition_variable>
#include <thread>

#include "sconce/runtime/execute.h"

namespace sconce::runtime {
namespace {

// Nested waits that run tasks on one stack; the next one gets a thread, and a stack, of its own.
constexpr int kDeepest = 50;
thread_local int depth = 0;

struct Task {
  std::shared_ptr<Code> code;
  std::vector<Value> args;
  Ref<Future> future;  // of an awaitable: set when a thread waits
  ThreadModes modes;
  RunOptions options;
};
using TaskPtr = std::shared_ptr<Task>;

class Pool {
 public:
  static Pool& instance() {
    static Pool* pool = new Pool;  // workers may outlive main
    return *pool;
  }

  void add(TaskPtr task) {
    const std::lock_guard lock(mutex_);
    if (workers_ == 0) start_workers();
    waiting_.emplace(task->future.get(), task);
    ++unfinished_[task->code->unit];
    queue_.push_back(std::move(task));
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
    TaskPtr task = std::move(found->second);
    waiting_.erase(found);
    std::erase(queue_, task);
    if (!task->future) {  // an awaitable
      task->future = Ref<Future>::share(future);
      ++unfinished_[task->code->unit];
    }
    return task;
  }

  void run(const TaskPtr& task) {
    const ThreadModes modes = thread_modes;
    thread_modes = task->modes;
    const ir::CompilationUnit* unit = task->code->unit;
    try {
      Value result = execute(*task->code, task->args, task->options);
      task->future->complete(std::move(result));
    } catch (...) {
      task->future->fail(std::current_exception());
    }
    task->args.clear();
    task->code.reset();
    thread_modes = modes;
    const std::lock_guard lock(mutex_);
    if (--unfinished_[unit] == 0) unfinished_.erase(unit);
    finished_.notify_all();
  }

  void finish(const ir::CompilationUnit* unit) {
    std::vector<TaskPtr> dropped;
    {
      const std::lock_guard lock(mutex_);
      if (waiting_.empty() && unfinished_.empty()) return;
      for (auto at = waiting_.begin(); at != waiting_.end();) {
        if (at->second->code->unit == unit) {
          if (at->second->future && --unfinished_[unit] == 0) unfinished_.erase(unit);
          std::erase(queue_, at->second);
          dropped.push_back(std::move(at->second));
          at = waiting_.erase(at);
        } else {
          ++at;
        }
      }
    }
    for (const TaskPtr& task : dropped) {
      if (!task->future) continue;
      task->future->fail(std::make_exception_ptr(Error(ErrorKind::runtime, "the program that was forked is gone")));
    }
    std::unique_lock lock(mutex_);
    finished_.wait(lock, [&] { return !unfinished_.contains(unit); });
  }

 private:
  void start_workers() {
    const unsigned count = std::max(1u, std::thread::hardware_concurrency());
    for (unsigned i = 0; i < count; ++i) {
      std::thread([this] { work(); }).detach();
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
  auto task = std::make_shared<Task>();
  task->code = site.code;
  task->args = std::move(args);
  task->modes = thread_modes;
  task->options = std::move(options);
  return task;
}

// Lives in the callbacks of an awaitable's future, and goes with it.
struct Forgetter {
  Future* future;
  ~Forgetter() { Pool::instance().forget(future); }
};

}  // namespace

Value start_fork(const BuildSite& site, std::vector<Value> args, RunOptions options) {
  TaskPtr task = make_task(site, std::move(args), std::move(options));
  task->future = make_ref<Future>(site.type);
  Ref<Future> future = task->future;
  Pool::instance().add(std::move(task));
  return future;
}

Value make_await(const BuildSite& site, std::vector<Value> args, RunOptions options) {
  Ref<Future> future = make_ref<Future>(site.type);
  Pool::instance().add_lazy(future.get(), make_task(site, std::move(args), std::move(options)));
  future->then([held = std::make_shared<Forgetter>(future.get())](Future&) {});
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
        std::thread([&] { Pool::instance().run(task); }).join();
      }
    }
  }
  return future.value();
}

void finish_tasks(const ir::CompilationUnit* unit) { Pool::instance().finish(unit); }

}  // namespace sconce::runtime
