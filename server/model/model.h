// Model: one version of a model that is served: its module, the requests that wait for it, and the threads (instances)
// that run them.
//
// Note [Answers]
// Whoever answers a job calls its `done`, outside of the lock, once. An instance runs jobs under a Budget: its time is
// the latest deadline of the batch, and it is cancelled when no member wants its answer any more, so that kernels end
// early.
#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "server/model/job.h"
#include "server/model/method.h"
#include "server/model/model_config.h"
#include "server/run/model_stats.h"

namespace sconce {
class FileBytes;
}

namespace sconce::server {

struct ModelSource {
  std::string name, version, path;
  bool verify = true;  // every check of `sconce verify` first
};

class Model : public std::enable_shared_from_this<Model> {
 public:
  // Loads the file and starts the instances. Throws Failure or Error.
  Model(ModelSource source, ModelConfig config, std::shared_ptr<ModelStats> stats);
  // Waits for the instances; what still waits is answered with `unavailable`. Not by one of them.
  ~Model();
  Model(const Model&) = delete;

  const std::string& name() const { return source_.name; }
  const std::string& version() const { return source_.version; }
  const std::string& path() const { return source_.path; }
  const ModelConfig& config() const { return config_; }
  const char* platform() const { return platform_; }
  std::vector<std::string> method_names() const;
  const std::shared_ptr<ModelStats>& stats() const { return stats_; }

  // A method's tensors, by the config where it says something. An empty name is forward, or the only method. Throws
  // Failure (not_found).
  const Method& method(const std::string& name) const;
  std::vector<TensorInfo> inputs(const Method& method) const;
  std::vector<TensorInfo> outputs(const Method& method) const;

  // Binds the request to a method and lets it wait. `done` is called later, or before this returns, by any thread.
  // Throws Failure when it is refused; then `done` is not called.
  JobPtr submit(InferRequest request, const std::string& method, Clock::time_point now,
                std::function<void(Answer)> done);
  // Why any request would be refused now: too many wait. So it needs not be read.
  std::optional<Failure> full() const;
  // The client has gone.
  void cancel(const JobPtr& job);
  // Answers what is past its deadline.
  void expire(Clock::time_point now);
  // Takes no more requests; those that wait are run.
  void close();
  bool is_idle() const;

 private:
  void work();
  // False: the slice was not enough, and nothing has been answered.
  bool run_together(const std::vector<JobPtr>& jobs, const std::shared_ptr<Batch>& batch, bool sliced = false);
  void answer(const JobPtr& job, Answer answer);
  void give_back_memory();
  bool waits_for_nobody(const Job& job) const;  // that it could be joined with
  void await_short_call(std::unique_lock<std::mutex>& lock);
  std::shared_ptr<Batch> begin(const std::vector<JobPtr>& jobs,
                               std::chrono::nanoseconds slice = std::chrono::nanoseconds::max());
  void end(const std::vector<JobPtr>& jobs);

  const ModelSource source_;
  const ModelConfig config_;
  const char* platform_ = "";
  const std::shared_ptr<ModelStats> stats_;
  std::map<std::string, std::unique_ptr<Method>> methods_;
  std::shared_ptr<const FileBytes> file_;
  uint64_t runs_ = 0, give_back_at_ = 3;  // see give_back_memory

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  BatchQueue<JobPtr> queue_;
  std::set<JobPtr> running_;
  size_t queued_bytes_ = 0;
  // Instances that run, and threads that make short calls in their place. Changed with the lock.
  std::atomic<int> busy_{0};
  int short_calls_ = 0, short_waiters_ = 0;
  std::condition_variable short_ended_;
  bool closed_ = false, stopped_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace sconce::server
