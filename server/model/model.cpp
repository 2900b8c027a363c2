#include "server/model/model.h"

#include <malloc.h>

#include <algorithm>
#include <optional>

#include "sconce/api/compile/inference.h"
#include "sconce/base/parallel.h"
#include "sconce/base/thread_limit.h"
#include "sconce/dispatch/budget/budget_scope.h"
#include "sconce/kernels/cpu/engine/scratch_memory.h"
#include "sconce/runtime/interpreter.h"
#include "sconce/serialization/archive/package.h"
#include "sconce/serialization/archive/verify.h"
#include "sconce/serialization/compiled/compiled_file.h"
#include "sconce/serialization/exported/exported_program.h"
#include "sconce/serialization/file/file_bytes.h"
#include "sconce/serialization/lite/lite.h"
#include "sconce/tensor/memory/allocator.h"
#include "sconce/tensor/memory/mapped_files.h"
#include "server/run/code_pages.h"

namespace sconce::server {
namespace {

constexpr size_t kLongestReason = 2000;
constexpr int kShortLooks = 200;  // 5 to 10 us, more than most calls that are worth it

void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb");
#endif
}

uint64_t ns_between(Clock::time_point a, Clock::time_point b) {
  return b > a ? static_cast<uint64_t>(std::chrono::nanoseconds(b - a).count()) : 0;
}

Failure shortened(Code code, std::string_view text) {
  if (text.size() > kLongestReason) text = text.substr(0, kLongestReason);
  return {code, std::string(text)};
}

// Why a call failed.
Failure failure_of(const std::exception& e, const Batch& batch, bool past_deadline) {
  if (const auto* f = dynamic_cast<const Failure*>(&e)) return *f;
  if (dynamic_cast<const std::bad_alloc*>(&e)) return {Code::unavailable, "the server is out of memory"};
  const auto* script = dynamic_cast<const runtime::ScriptError*>(&e);
  const std::string_view text = script && !script->reason().empty() ? std::string_view(script->reason()) : e.what();
  if (batch.budget->has_ended()) {
    if (past_deadline) return {Code::deadline_exceeded, "the deadline passed while the model ran"};
    return shortened(Code::limit_reached, text);
  }
  const auto* error = dynamic_cast<const Error*>(&e);
  const bool ours = !error || error->kind() == ErrorKind::internal;
  return shortened(ours ? Code::internal : Code::invalid_argument, text);
}

// A limit for all of a batch.
uint64_t times(uint64_t limit, size_t n) { return limit > Limits::kNone / n ? Limits::kNone : limit * n; }

// The pool has as many threads as the model that may use most of them; each call has its model's ThreadLimit.
void need_threads(int count) {
  static std::mutex mutex;
  const std::scoped_lock lock(mutex);
  if (num_threads() < count) set_num_threads(count);
}

// Takes a number of the protocol's parameters out of them.
std::optional<uint64_t> take_number(Parameters& parameters, const char* name) {
  const auto at = parameters.find(name);
  if (at == parameters.end()) return {};
  const auto* n = std::get_if<int64_t>(&at->second);
  if (!n || *n < 0) refuse("parameter '{}' has to be a number from 0", name);
  const auto v = static_cast<uint64_t>(*n);
  parameters.erase(at);
  return v;
}

}  // namespace

Model::Model(ModelSource source, ModelConfig config, std::shared_ptr<ModelStats> stats)
    : source_(std::move(source)),
      config_(std::move(config)),
      stats_(std::move(stats)),
      queue_({config_.max_batch_size, config_.batch_delay, config_.preferred_batch_sizes}) {
  check_model_config(source_.name, config_);
  need_threads(config_.threads);
  file_ = FileBytes::read_or_map(source_.path);
  const FileBytesPtr& file = file_;
  const FileKind kind = kind_of(file);
  if (source_.verify) {
    const Verification v = verify_file(file);
    for (const Check& c : v.checks) {
      if (c.outcome != Outcome::ok)
        refuse("{}: {}: {}: {}; --unverified serves it all the same, as far as it goes", source_.path,
               outcome_name(c.outcome), c.what, c.detail);
    }
  }
  give_back_pages(file->bytes().data(), file->bytes().size());  // what only the checks have read
  const LoadOptions options;
  Archive archive;
  switch (kind) {
    case FileKind::torchscript:
      archive = load_archive(file, options), platform_ = "sconce_torchscript";
      break;
    case FileKind::lite:
      archive = load_lite_archive(file, options), platform_ = "sconce_lite";
      break;
    case FileKind::exported_program:
      archive = load_exported_program(file, options), platform_ = "sconce_exported";
      break;
    case FileKind::compiled:
      archive = load_compiled(file, options), platform_ = "sconce_compiled";
      break;
    case FileKind::package:
      archive = load_package(file, {}, options), platform_ = "sconce_package";
      break;
    default:
      refuse("{}: a {} holds no program{}", source_.path, kind_name(kind), program_hint(kind));
  }
  jit::Module module(archive.unit, std::move(archive.module));
  if (kind == FileKind::torchscript && module.has_attr("training")) module.eval();
  std::vector<std::string> names = module.method_names();
  std::erase_if(names, [](const std::string& n) { return n.starts_with("__"); });
  if (config_.optimize) {
    std::vector<std::string> others = names;
    std::erase(others, "forward");
    module = jit::optimize_for_inference(module, others);
  }
  for (const std::string& n : names) methods_.emplace(n, std::make_unique<Method>(module, n));
  if (methods_.empty()) refuse("{}: the module has no methods", source_.path);
  for (const auto& [input, pad] : config_.ragged) {
    const bool known = std::any_of(methods_.begin(), methods_.end(), [&](const auto& m) {
      const auto& all = m.second->argument_names();
      return std::find(all.begin(), all.end(), input) != all.end();
    });
    if (!known) refuse("{}: ragged: there is no input '{}'", source_.name, input);
  }
  try {
    for (int i = 0; i < config_.instances; ++i) threads_.emplace_back([this] { work(); });
  } catch (...) {
    {
      const std::scoped_lock lock(mutex_);
      stopped_ = true;
    }
    wake_.notify_all();
    for (std::thread& t : threads_) t.join();
    throw;
  }
}

Model::~Model() {
  std::vector<JobPtr> left;
  {
    const std::scoped_lock lock(mutex_);
    closed_ = stopped_ = true;
    left = queue_.remove_if([](const Job&) { return true; });
    for (const JobPtr& job : running_) job->batch->budget->cancel();
  }
  wake_.notify_all();
  for (std::thread& t : threads_) t.join();
  for (const JobPtr& job : left) answer(job, Failure(Code::unavailable, "the server stops"));
}

std::vector<std::string> Model::method_names() const {
  std::vector<std::string> out;
  for (const auto& [name, method] : methods_) out.push_back(name);
  return out;
}

const Method& Model::method(const std::string& name) const {
  const bool one = methods_.size() == 1;
  const auto at = name.empty() ? (one ? methods_.begin() : methods_.find("forward")) : methods_.find(name);
  if (at == methods_.end())
    refuse(Code::not_found, "model '{}' has no method '{}': it has {}", this->name(),
           name.empty() ? "forward" : name.substr(0, 100), fmt::join(method_names(), ", "));
  return *at->second;
}

namespace {
std::vector<TensorInfo> known_better(std::vector<TensorInfo> tensors, const std::vector<TensorInfo>& config) {
  for (TensorInfo& t : tensors) {
    for (const TensorInfo& c : config) {
      if (c.name == t.name) t = c;
    }
  }
  return tensors;
}
}  // namespace

std::vector<TensorInfo> Model::inputs(const Method& m) const { return known_better(m.inputs(), config_.inputs); }
std::vector<TensorInfo> Model::outputs(const Method& m) const { return known_better(m.outputs(), config_.outputs); }

JobPtr Model::submit(InferRequest request, const std::string& method_name, Clock::time_point now,
                     std::function<void(Answer)> done) {
  auto job = std::make_shared<Job>();
  job->queued = now;
  job->method = &method(method_name);
  Parameters& parameters = request.parameters;
  std::chrono::nanoseconds timeout = config_.timeout;
  if (const auto us = take_number(parameters, "timeout"); us && *us)
    timeout =
        std::min(timeout, std::chrono::nanoseconds(std::chrono::microseconds(std::min<uint64_t>(*us, 1ull << 50))));
  if (request.time_left) timeout = std::min(timeout, *request.time_left);
  if (timeout != std::chrono::nanoseconds::max()) job->deadline = now + timeout;
  // A request may ask for less than the model allows, not for more.
  job->limits.memory = std::min(config_.max_memory, take_number(parameters, "max_memory").value_or(Limits::kNone));
  job->limits.work = std::min(config_.max_work, take_number(parameters, "max_work").value_or(Limits::kNone));
  for (const char* name : {"priority", "sequence_id"}) {
    if (take_number(parameters, name).value_or(0) != 0)
      refuse(Code::unimplemented, "parameter '{}' is not supported", name);
  }
  for (const char* name : {"sequence_start", "sequence_end"}) {
    const auto at = parameters.find(name);
    if (at == parameters.end()) continue;
    if (at->second != Parameter(false)) refuse(Code::unimplemented, "parameter '{}' is not supported", name);
    parameters.erase(at);
  }
  for (const WireTensor& t : request.inputs) job->bytes += byte_size(t);
  job->args = job->method->bind(request);
  refuse_rest("the request", parameters);
  request.inputs.clear();
  if (config_.max_batch_size) {
    job->rows = rows_of(job->args);
    if (job->rows > config_.max_batch_size)
      refuse("a batch of {} is larger than the model's max_batch_size of {}", job->rows, config_.max_batch_size);
    for (const std::string& n : job->method->argument_names()) job->ragged.push_back(config_.ragged.contains(n));
  }
  job->request = std::move(request);
  job->model = shared_from_this();
  job->done = std::move(done);
  const bool is_short = waits_for_nobody(*job) && job->method->is_short(job->args);
  std::shared_ptr<Batch> now_batch;
  {
    std::unique_lock lock(mutex_);
    if (is_short) await_short_call(lock);
    if (closed_) refuse(Code::unavailable, "model '{}' is being unloaded", name());
    if (static_cast<int64_t>(queue_.size()) >= config_.queue)
      refuse(Code::exhausted, "model '{}': {} requests wait already", name(), queue_.size());
    if (queued_bytes_ + job->bytes > static_cast<size_t>(config_.queue_bytes) && !queue_.empty())
      refuse(Code::exhausted, "model '{}': requests of {} bytes wait already", name(), queued_bytes_);
    if (is_short && queue_.empty() && busy_ < config_.instances) {
      now_batch = begin({job}, Method::kSlice);
      ++short_calls_;
    } else {
      queued_bytes_ += job->bytes;
      queue_.push(job);
      stats_->waiting.fetch_add(1, std::memory_order_relaxed);
    }
  }
  if (!now_batch) {
    wake_.notify_one();
    return job;
  }
  const bool again = !run_together({job}, now_batch, true);
  bool others = false, turn = false;
  {
    const std::scoped_lock lock(mutex_);
    end({job});
    --short_calls_;
    if (again) {
      queued_bytes_ += job->bytes;
      queue_.push(job);
      stats_->waiting.fetch_add(1, std::memory_order_relaxed);
    }
    others = !queue_.empty();
    turn = short_waiters_ > 0;
  }
  if (others) wake_.notify_one();
  if (turn) short_ended_.notify_one();
  return job;
}

std::optional<Failure> Model::full() const {
  const std::scoped_lock lock(mutex_);
  if (static_cast<int64_t>(queue_.size()) < config_.queue) return {};
  return Failure(Code::exhausted, fmt::format("model '{}': {} requests wait already", name(), queue_.size()));
}

bool Model::waits_for_nobody(const Job& job) const {
  return !job.rows || !config_.batch_delay.count() || job.rows >= config_.max_batch_size;
}

// Called with the lock. Note [Short calls]: where all instances are taken and one of them is a thread like this one, the
// call there is over sooner than another thread could be woken for this one. Without that, threads of HTTP that meet at
// a small model fill its queue, which is emptied more slowly than they could have answered.
void Model::await_short_call(std::unique_lock<std::mutex>& lock) {
  const auto in_vain = [this] { return short_calls_ == 0 || !queue_.empty() || closed_; };
  if (busy_ < config_.instances || in_vain()) return;
  lock.unlock();
  for (int i = 0; i < kShortLooks && busy_.load(std::memory_order_relaxed) >= config_.instances; ++i) pause_briefly();
  lock.lock();
  if (busy_ < config_.instances || in_vain()) return;
  ++short_waiters_;  // its thread does not run: no use in looking. It has kSlice at most
  short_ended_.wait_for(lock, Method::kSlice, [&] { return busy_ < config_.instances || in_vain(); });
  --short_waiters_;
}

// Called with the lock.
void Model::end(const std::vector<JobPtr>& jobs) {
  for (const JobPtr& job : jobs) {
    running_.erase(job);
    job->batch.reset();
  }
  --busy_;
  ++runs_;
  stats_->running.fetch_sub(1, std::memory_order_relaxed);
}

void Model::answer(const JobPtr& job, Answer answer) {
  if (job->answered.exchange(true)) return;
  const Code code = std::holds_alternative<Failure>(answer) ? std::get<Failure>(answer).code : Code::ok;
  stats_->answered(code, ns_between(job->queued, Clock::now()));
  if (job->done) job->done(std::move(answer));
}

void Model::cancel(const JobPtr& job) {
  bool was_waiting = false;
  {
    const std::scoped_lock lock(mutex_);
    was_waiting = !queue_.remove_if([&](const Job& j) { return &j == job.get(); }).empty();
    if (was_waiting) {
      queued_bytes_ -= job->bytes;
      stats_->waiting.fetch_sub(1, std::memory_order_relaxed);
    } else if (job->batch && !job->answered.load() && --job->batch->live == 0) {
      job->batch->budget->cancel();
    }
  }
  answer(job, Failure(Code::cancelled, "the client has gone"));
}

// Called with the lock. The load, and calls before there is a plan, need memory that later calls do not; and weights
// that plans have packed would lie in memory twice. So it is given back, now and then, while no call runs: pages of
// the file that nobody has written to, and of code, which are read again where they are needed; scratch memory; what
// allocators cache (also for the thread that calls this: an instance, if there was one).
void Model::give_back_memory() {
  if (runs_ < give_back_at_ || busy_ > 0) return;
  give_back_at_ *= 3;
  give_back_pages(file_->bytes().data(), file_->bytes().size());
  give_back_scratch();
  release_cached_memory();
  give_back_code();
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

void Model::expire(Clock::time_point now) {
  std::vector<JobPtr> late, running;
  {
    const std::scoped_lock lock(mutex_);
    give_back_memory();
    late = queue_.remove_if([&](const Job& j) { return j.deadline <= now; });
    for (const JobPtr& job : late) queued_bytes_ -= job->bytes;
    stats_->waiting.fetch_sub(static_cast<int64_t>(late.size()), std::memory_order_relaxed);
    for (const JobPtr& job : running_) {
      if (job->deadline > now || job->answered.load()) continue;
      if (--job->batch->live == 0) job->batch->budget->cancel();
      running.push_back(job);
    }
  }
  for (const JobPtr& job : late)
    answer(job, Failure(Code::deadline_exceeded, "the deadline passed while the request waited"));
  for (const JobPtr& job : running)
    answer(job, Failure(Code::deadline_exceeded, "the deadline passed while the model ran"));
}

void Model::close() {
  {
    const std::scoped_lock lock(mutex_);
    closed_ = true;
  }
  wake_.notify_all();
}

bool Model::is_idle() const {
  const std::scoped_lock lock(mutex_);
  return queue_.empty() && running_.empty();
}

void Model::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    const Clock::time_point now = Clock::now();
    const bool free = busy_ < config_.instances;
    std::vector<JobPtr> jobs = free ? queue_.take(now, closed_) : std::vector<JobPtr>();
    if (jobs.empty()) {
      if (stopped_) return;
      if (!free) {  // whoever runs there wakes one
        wake_.wait(lock);
        continue;
      }
      if (const auto at = queue_.ready_at())
        wake_.wait_until(lock, *at);
      else
        wake_.wait(lock);
      continue;
    }
    for (const JobPtr& job : jobs) queued_bytes_ -= job->bytes;
    stats_->waiting.fetch_sub(static_cast<int64_t>(jobs.size()), std::memory_order_relaxed);
    if (!queue_.empty()) wake_.notify_one();  // one push may have made two batches
    const std::shared_ptr<Batch> batch = begin(jobs);
    lock.unlock();
    run_together(jobs, batch);
    lock.lock();
    end(jobs);
    lock.unlock();
    jobs.clear();  // what they hold may take a while to end
    lock.lock();
    give_back_memory();
  }
}

// Called with the lock.
std::shared_ptr<Batch> Model::begin(const std::vector<JobPtr>& jobs, std::chrono::nanoseconds slice) {
  ++busy_;
  stats_->running.fetch_add(1, std::memory_order_relaxed);
  auto batch = std::make_shared<Batch>();
  Limits limits;
  Clock::time_point deadline = Clock::time_point::min();
  for (const JobPtr& job : jobs) {
    limits.memory = std::min(limits.memory, job->limits.memory);
    limits.work = std::min(limits.work, job->limits.work);
    deadline = std::max(deadline, job->deadline);
  }
  limits.memory = times(limits.memory, jobs.size());
  limits.work = times(limits.work, jobs.size());
  if (deadline != Clock::time_point::max())
    limits.timeout = std::max<std::chrono::nanoseconds>(deadline - Clock::now(), std::chrono::nanoseconds(1));
  batch->slice_end = slice == std::chrono::nanoseconds::max() ? Clock::time_point::max() : Clock::now() + slice;
  limits.timeout = std::min(limits.timeout, slice);
  batch->budget = std::make_shared<Budget>(limits, "the request");
  batch->live = jobs.size();
  for (const JobPtr& job : jobs) {
    job->batch = batch;
    running_.insert(job);
  }
  return batch;
}

bool Model::run_together(const std::vector<JobPtr>& jobs, const std::shared_ptr<Batch>& batch, bool sliced) {
  const Clock::time_point start = Clock::now();
  for (const JobPtr& job : jobs) {
    const uint64_t waited = ns_between(job->queued, start);
    stats_->queue.add(waited);
    stats_->queued.add(waited);
  }
  const auto last = *std::max_element(jobs.begin(), jobs.end(),
                                      [](const JobPtr& a, const JobPtr& b) { return a->deadline < b->deadline; });
  try {
    Clock::time_point joined, computed;
    std::vector<WireTensor> outputs;
    int64_t rows = 0;
    for (const JobPtr& job : jobs) rows += std::max<int64_t>(job->rows, 1);
    {
      const ThreadLimit threads(config_.threads);
      // Operators pay only where something is counted. Time and cancel() end plans, loops and kernels without that,
      // and a thread where operators pay runs no plans.
      std::optional<BudgetScope> counted;
      std::optional<ActiveBudget> timed;
      if (batch->budget->counts())
        counted.emplace(batch->budget);
      else
        timed.emplace(batch->budget.get());
      std::vector<Value> together;
      if (jobs.size() > 1) {
        std::vector<double> padding;
        for (const std::string& n : jobs[0]->method->argument_names()) {
          const auto at = config_.ragged.find(n);
          padding.push_back(at == config_.ragged.end() ? 0 : at->second);
        }
        together = join_arguments(jobs, padding);
      }
      joined = Clock::now();
      const Value result = jobs[0]->method->run(jobs.size() > 1 ? together : jobs[0]->args);
      computed = Clock::now();
      outputs = flatten_result(result);
    }
    std::vector<Answer> answers;
    int64_t begin = 0;
    for (const JobPtr& job : jobs) {
      InferResponse response{name(), version(), job->request.id, {}};
      response.outputs = jobs.size() == 1 ? std::move(outputs) : take_rows(outputs, begin, job->rows, rows);
      begin += job->rows;
      try {
        response.outputs = choose_outputs(std::move(response.outputs), job->request.outputs);
        answers.emplace_back(std::move(response));
      } catch (const Failure& f) {
        answers.emplace_back(f);
      }
    }
    const Clock::time_point end = Clock::now();
    const uint64_t in = ns_between(start, joined), run = ns_between(joined, computed), out = ns_between(computed, end);
    stats_->compute_input.add(in * jobs.size(), jobs.size());
    stats_->compute_infer.add(run * jobs.size(), jobs.size());
    stats_->compute_output.add(out * jobs.size(), jobs.size());
    stats_->computed.add(run);
    if (jobs.size() == 1) jobs[0]->method->remember(jobs[0]->args, computed - joined);
    stats_->executions.fetch_add(1, std::memory_order_relaxed);
    stats_->rows.fetch_add(static_cast<uint64_t>(rows), std::memory_order_relaxed);
    auto& of_size = stats_->batches[std::min<size_t>(static_cast<size_t>(rows), ModelStats::kMostBatch)];
    of_size.input.add(in);
    of_size.infer.add(run);
    of_size.output.add(out);
    stats_->last_inference_ms = static_cast<uint64_t>(
        std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
            .count());
    for (size_t i = 0; i < jobs.size(); ++i) answer(jobs[i], std::move(answers[i]));
  } catch (const std::exception& e) {
    // Its slice is over, and nothing else: it begins again.
    if (sliced && batch->budget->has_ended() && Clock::now() >= batch->slice_end && Clock::now() < jobs[0]->deadline &&
        !jobs[0]->answered.load()) {
      jobs[0]->method->remember(jobs[0]->args, Method::kSlice);
      return false;
    }
    // One of several may be to blame: each runs alone, so that the others do not pay for it.
    if (jobs.size() > 1 && !batch->budget->has_ended()) {
      for (const JobPtr& job : jobs) {
        if (job->answered.load()) continue;
        std::shared_ptr<Batch> alone;
        {
          const std::scoped_lock lock(mutex_);
          alone = begin({job});
          --busy_;  // it is the instance that has the batch already
          stats_->running.fetch_sub(1, std::memory_order_relaxed);
        }
        run_together({job}, alone);
      }
      return true;
    }
    const bool late = Clock::now() >= last->deadline;
    for (const JobPtr& job : jobs) answer(job, failure_of(e, *batch, late));
  }
  return true;
}

}  // namespace sconce::server
