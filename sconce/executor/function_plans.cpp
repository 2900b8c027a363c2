#include "sconce/executor/function_plans.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>

#include <fmt/format.h>

#include "sconce/base/budget.h"
#include "sconce/base/error.h"
#include "sconce/base/logs.h"
#include "sconce/codegen/device_maker.h"
#include "sconce/executor/calls/call_match.h"
#include "sconce/executor/calls/epochs.h"
#include "sconce/executor/calls/process_lock.h"
#include "sconce/executor/execution_plan.h"
#include "sconce/executor/graph_backend.h"
#include "sconce/executor/recorder.h"
#include "sconce/runtime/execute.h"
#include "sconce/tensor/generator.h"

namespace sconce::executor {
namespace {

// Of a function. Plans for other sizes share kernels and packed weights; what each has of its own is a list of steps.
constexpr size_t kMostPlans = 128;
constexpr size_t kMostSeen = 256;    // signatures of which the first call is remembered
constexpr int kMostFailures = 4;     // recordings in vain before a function is left to the interpreter
constexpr int kMostMisses = 4096;    // calls in a row of which none had a plan: the same
constexpr int kMostUnused = 64;      // plans in a row that had to go before they had run three times: no more are made
constexpr int kLongestPause = 4096;  // calls between two recordings of a function that met gradients

constinit std::atomic<int> enabled{-1};  // -1: the environment was not asked yet

using Signature = std::vector<uint64_t>;

uint64_t hash_of(const Words& words) {
  uint64_t hash = 0x9e3779b97f4a7c15;
  for (const uint64_t w : words) {
    hash = (hash ^ w) * 0xff51afd7ed558ccd;
    hash ^= hash >> 32;
  }
  return hash;
}

// A plan with the signature that it is for.
class Entry final : public Counted {
 public:
  Entry(const Words& words, std::optional<CallMatch> match, std::shared_ptr<const Plan> plan)
      : hash_(hash_of(words)), words_(words.begin(), words.end()), match_(std::move(match)), plan(std::move(plan)) {}
  bool takes(const Words& words, uint64_t hash) const { return hash == hash_ && takes(words); }
  bool takes(const Words& words) const {
    return words.size() == words_.size() && std::equal(words.begin(), words.end(), words_.begin());
  }
  // The same without words. Gives the tensors among the arguments.
  bool takes(uint64_t modes, uint32_t backend, bool records, std::span<const Value> args,
             MatchedTensors& tensors) const {
    return match_ && words_[0] == modes && words_[1] == backend && match_->holds(args, records, tensors);
  }
  // Threads that call at once may lose some.
  void count_run() const { runs.store(runs.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed); }

 private:
  const uint64_t hash_;
  const Signature words_;
  const std::optional<CallMatch> match_;

 public:
  const std::shared_ptr<const Plan> plan;
  mutable std::atomic<uint64_t> runs{0};
  uint64_t last_use = 0;  // by the clock of FunctionPlans
};

// A plan that was there before the first call: see give_plan.
struct GivenPlan {
  Signature words;  // of the arguments
  uint64_t modes;
  std::shared_ptr<const Plan> plan;

  // Whether the words of a call, the first of which are its modes and its backend, ask for it. Its tape records no
  // gradients, so the modes that say whether others would do not matter.
  bool takes(const Words& call) const {
    constexpr uint64_t kMatter = ~uint64_t{0} << 40;  // default dtype, level, deterministic mode
    return call.size() == words.size() + 2 && ((call[0] ^ modes) & kMatter) == 0 && call[1] == 0 &&
           std::equal(words.begin(), words.end(), call.begin() + 2);
  }
};

// The plans of a function. Those whose lock was lost by a fork are not looked at any more: the interpreter is there.
class FunctionPlans final : public runtime::CodePlans {
 public:
  ~FunctionPlans() override = default;  // nobody calls the function any more: what was retired goes, too

  // The entry of the last call, null: none. For those who are reading (Note [Epochs]).
  const Entry* last() const { return last_.load(std::memory_order_acquire); }
  Ref<Entry> find(const Words& words) {
    const uint64_t hash = hash_of(words);
    const Held lock(lock_);
    if (!lock) return lost();
    for (size_t i = 0; i < entries_.size(); ++i) {
      if (entries_[i]->takes(words, hash)) return found(i);
    }
    if (++misses_ > kMostMisses && entries_.empty()) hopeless_.store(true, std::memory_order_relaxed);
    return {};
  }

  // Behind the lock.
  Ref<Entry> found(size_t i) {
    if (Entry* before = last_.load(std::memory_order_relaxed)) before->last_use = ++clock_;
    entries_[i]->last_use = ++clock_;
    misses_ = 0;
    last_.store(entries_[i].get(), std::memory_order_release);
    return entries_[i];
  }

  bool has_given() const { return !given_.empty(); }
  void give(GivenPlan given) { given_.push_back(std::move(given)); }
  // The plan for the words of a call that was given beforehand, from now on among the others.
  Ref<Entry> take_given(const Words& words, std::span<const Value> args) {
    for (const GivenPlan& given : given_) {
      if (!given.takes(words) || !given.plan->holds()) continue;
      Ref<Entry> entry = make_ref<Entry>(words, CallMatch::make(args), given.plan);
      add(entry);
      return entry;
    }
    return {};
  }

  // Whether this is the second call of its kind; the first is remembered.
  bool is_second_call(const Words& words) {
    const uint64_t hash = hash_of(words);
    const Held lock(lock_);
    if (!lock) return false;
    const auto found = std::find(seen_.begin(), seen_.end(), hash);
    if (found != seen_.end()) {
      seen_.erase(found);
      return true;
    }
    if (seen_.size() == kMostSeen) seen_.erase(seen_.begin());
    seen_.push_back(hash);
    return false;
  }

  void add(Ref<Entry> entry) {
    Retired gone;
    const Held lock(lock_);
    if (!lock) return;
    if (entries_.size() == kMostPlans) {
      if (Entry* last = last_.load(std::memory_order_relaxed)) last->last_use = ++clock_;
      const auto found =
          std::min_element(entries_.begin(), entries_.end(),
                           [](const Ref<Entry>& a, const Ref<Entry>& b) { return a->last_use < b->last_use; });
      unused_ = (*found)->runs.load(std::memory_order_relaxed) < 3 ? unused_ + 1 : 0;
      retire(std::move(*found));
      entries_.erase(found);
      gone = passed();
      if (unused_ > kMostUnused) is_full_.store(true, std::memory_order_relaxed);
    }
    entry->last_use = ++clock_;
    entries_.push_back(std::move(entry));
  }

  void drop(const Ref<Entry>& entry) {
    Retired gone;
    const Held lock(lock_);
    if (!lock) return;
    const auto found = std::find(entries_.begin(), entries_.end(), entry);
    if (found == entries_.end()) return;
    retire(std::move(*found));
    entries_.erase(found);
    gone = passed();
  }

  // Gradients that are recorded are no reason to give the function up: it may be called without them. It is tried again
  // after ever more calls.
  void met_gradients(std::string why) {
    const Held lock(lock_);
    if (!lock) return;
    why_.swap(why);
    pause_ = std::min(pause_ * 2, kLongestPause);
    paused_.store(pause_, std::memory_order_relaxed);
  }
  // Whether a call that autograd sees is one of those.
  bool is_paused() {
    const int left = paused_.load(std::memory_order_relaxed);
    if (left > 0) paused_.store(left - 1, std::memory_order_relaxed);
    return left > 0;
  }

  void failed(std::string why) {
    const Held lock(lock_);
    if (!lock) return;
    why_.swap(why);
    if (++failures_ >= kMostFailures) hopeless_.store(true, std::memory_order_relaxed);
  }
  void succeeded() {
    const Held lock(lock_);
    if (!lock) return;
    why_.clear();
    failures_ = 0;
  }

  // Of the next calls: that of a PlanRequest, else the chosen one. Throws Error if the environment names none.
  uint32_t backend() const {
    const uint32_t own = backend_.load(std::memory_order_relaxed);
    return own != kNone ? own : current_backend_number();
  }
  void set_backend(uint32_t number) { backend_.store(number, std::memory_order_relaxed); }

  // Whether there are to be no more than those that it has.
  bool is_full() const { return is_full_.load(std::memory_order_relaxed); }
  bool is_hopeless() const { return hopeless_.load(std::memory_order_relaxed); }
  std::string why() {
    const Held lock(lock_);
    return lock ? why_ : "another thread was at the plans when the process was forked";
  }
  std::vector<Ref<Entry>> entries() {
    const Held lock(lock_);
    return lock ? entries_ : std::vector<Ref<Entry>>();
  }
  void clear() {
    Retired gone;
    const Held lock(lock_);
    if (!lock) return;
    for (Ref<Entry>& entry : entries_) retire(std::move(entry));
    entries_.clear();
    gone = passed();
    seen_.clear();
    failures_ = unused_ = 0;
    hopeless_.store(false);
    is_full_.store(false);
  }

 private:
  Ref<Entry> lost() {
    hopeless_.store(true, std::memory_order_relaxed);
    return {};
  }

  // Entries that are no longer among the others: threads may still run them.
  struct RetiredEntry {
    uint64_t epoch;
    Ref<Entry> entry;
  };
  using Retired = std::vector<RetiredEntry>;  // destroyed behind the lock
  // Both behind the lock. The entry is taken out of entries_ by the caller.
  void retire(Ref<Entry> entry) {
    if (last_.load(std::memory_order_relaxed) == entry.get()) last_.store(nullptr, std::memory_order_release);
    retired_.push_back({end_epoch(), std::move(entry)});
  }
  // Those that nobody can see any more.
  Retired passed() {
    const uint64_t oldest = oldest_reader();
    const auto gone = std::stable_partition(retired_.begin(), retired_.end(),
                                            [&](const RetiredEntry& r) { return r.epoch >= oldest; });
    Retired list(std::make_move_iterator(gone), std::make_move_iterator(retired_.end()));
    retired_.erase(gone, retired_.end());
    return list;
  }

  std::vector<GivenPlan> given_;     // set before the first call
  ProcessLock lock_;                 // of all that follows and is not atomic
  std::vector<Ref<Entry>> entries_;  // the newest is the last
  Retired retired_;
  std::atomic<Entry*> last_{nullptr};  // one of entries_
  uint64_t clock_ = 0;                 // uses and additions
  int misses_ = 0;
  int unused_ = 0;
  int pause_ = 8;
  std::atomic<int> paused_{0};
  std::atomic<bool> hopeless_{false}, is_full_{false};
  std::atomic<uint32_t> backend_{kNone};  // the number of one, kNone: the chosen one
  std::vector<uint64_t> seen_;
  int failures_ = 0;
  std::string why_;
};

FunctionPlans& plans_of_code(const runtime::Code& code) {
  if (runtime::CodePlans* known = code.plans.load(std::memory_order_acquire))
    return static_cast<FunctionPlans&>(*known);
  auto made = std::make_unique<FunctionPlans>();
  runtime::CodePlans* none = nullptr;
  if (code.plans.compare_exchange_strong(none, made.get(), std::memory_order_acq_rel)) return *made.release();
  return static_cast<FunctionPlans&>(*none);
}

void log(const runtime::Code& code, const std::string& text) {
  if (is_logged(LogTag::plans)) fmt::print(stderr, "[plans] {}: {}\n", code.name, text);
}

// No plan has the signature of a call.
void log_new_arguments(const runtime::Code& code, FunctionPlans& plans, std::span<TensorImpl* const> tensors) {
  if (plans.entries().empty()) return;  // the first calls of all
  std::string given;
  for (TensorImpl* t : tensors) given += (given.empty() ? "" : ", ") + geometry_text(Tensor(Ref<TensorImpl>::share(t)));
  fmt::print(stderr, "[guards] {}: none of {} plans is for these arguments, numbers and modes: ({})\n", code.name,
             plans.entries().size(), given);
}

// Draws of a call that fails are taken back: the interpreter will make them again.
class DrawnNumbers {
 public:
  DrawnNumbers(bool draws, Device device) {
    if (!draws) return;
    if (device.type != DeviceType::cpu) {
      maker_ = codegen::find_device_maker(device.type);
      device_ = device;
      place_ = maker_->drawn(device);
    }
    GeneratorImpl& g = *default_generator().impl();
    const std::lock_guard lock(g.mutex);
    state_ = g.state();
  }
  void take_back() const {
    if (state_.empty()) return;
    if (maker_) maker_->set_drawn(device_, place_);
    GeneratorImpl& g = *default_generator().impl();
    const std::lock_guard lock(g.mutex);
    g.set_state(state_);
  }

 private:
  std::vector<uint8_t> state_;
  const codegen::DeviceMaker* maker_ = nullptr;
  Device device_;
  uint64_t place_ = 0;
};

template <class Tensors>
bool run_plan(const runtime::Code& code, const Entry& entry, const Tensors& tensors, Value& result) {
  if (!entry.plan->is_ready()) [[unlikely]]
    return false;  // its kernels are being made
  entry.count_run();
  const DrawnNumbers drawn(entry.plan->draws(), entry.plan->device());
  try {
    result = entry.plan->run(tensors);
  } catch (const BackendError&) {
    throw;  // not the program's mistake: nobody else would show it
  } catch (const std::exception& e) {
    if (const Budget* budget = Budget::active(); budget && budget->has_ended()) throw;
    log(code, fmt::format("a step failed, the interpreter takes over: {}", e.what()));
    drawn.take_back();
    return false;
  }
  return true;
}

// Interprets the call and makes a plan of what it does.
Value record(const runtime::Code& code, FunctionPlans& plans, const Words& words, uint32_t backend_number,
             std::span<Value> args, const runtime::RunOptions& options, bool gives_back = false) {
  const std::shared_ptr<GraphBackend> backend = backend_of_number(backend_number);
  Recorder recorder(args);
  runtime::RunOptions observed = options;
  observed.observer = &recorder;
  std::optional<CallMatch> match = CallMatch::make(args);  // before the call moves from them
  Value result = runtime::execute(code, args, observed);
  std::optional<Tape> tape = recorder.finish(result);
  std::string why = recorder.why();
  if (tape) {
    try {
      const auto start = std::chrono::steady_clock::now();
      if (std::unique_ptr<Plan> plan = make_plan(std::move(*tape), std::move(recorder.guards()), why,
                                                 {backend.get(), gives_back, !gives_back})) {
        const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
        log(code, fmt::format("planned, {} steps, in {:.2f} ms", plan->steps().size(), took.count()));
        if (is_logged(LogTag::plans, LogLevel::debug)) fmt::print(stderr, "{}", plan->text());
        if (is_logged(LogTag::guards, LogLevel::debug)) {
          fmt::print(stderr, "[guards] {}: {} guards\n{}", code.name, plan->guard_count(), plan->guards().text());
        }
        plans.succeeded();
        plans.add(make_ref<Entry>(words, std::move(match), std::move(plan)));
        return result;
      }
    } catch (const std::exception& e) {  // no memory for packed weights, most likely
      why = e.what();
    }
  }
  log(code, "not planned: " + why);
  if (recorder.met_gradients())
    plans.met_gradients(std::move(why));
  else
    plans.failed(std::move(why));
  return result;
}

PlanText text_of(const Entry& entry) {
  const Plan& p = *entry.plan;
  PlanText text{p.steps().size(), p.guard_count(), p.arena_bytes(), entry.runs.load(), p.text(), {}};
  const std::vector<double> seconds = p.step_seconds();
  for (size_t i = 0; i < p.steps().size(); ++i) {
    const Scheduled& s = p.steps()[i];
    text.list.push_back({p.step_text(i), s.work, seconds.empty() ? -1 : seconds[i]});
  }
  return text;
}

// Whether the call has limits that operators and steps of the interpreter count.
bool is_counted() {
  const Budget* budget = Budget::active();
  return budget && budget->counts();
}

// A plan whose kernels cannot be made is none.
void wait_for_kernels(FunctionPlans& plans, Ref<Entry>& entry) {
  try {
    entry->plan->wait();
  } catch (const Error& e) {
    plans.drop(entry);
    plans.failed(e.what());
    entry = {};
  }
}

thread_local constinit PlanRequest* current_request = nullptr;

// A call while a request waits: its plan is made now.
bool run_requested(const runtime::Code& code, std::span<Value> args, const runtime::RunOptions& options,
                   Value& result) {
  PlanRequest& request = *current_request;
  PlanRequest::Outcome outcome;
  outcome.function = code.name;
  const auto refused = [&](const char* why) {
    outcome.why = why;
    request.outcomes.push_back(std::move(outcome));
    return false;
  };
  if (!plans_enabled()) return refused("plans are off (SCONCE_PLANS)");
  if (options.observer) return refused("the call is watched: a profile or a trace");
  if (is_counted()) return refused("the call has limits");
  FunctionPlans& plans = plans_of_code(code);
  if (plans.is_hopeless()) plans.clear();
  if (!request.backend.empty()) plans.set_backend(backend_number(request.backend));
  const uint32_t backend = plans.backend();
  Words words;
  SmallVector<TensorImpl*, 8> tensors;
  if (!append_modes(words)) return refused("autocast, a trace or a provider of kernels is in use");
  words.push_back(backend);
  if (!append_arguments(args, words, tensors)) return refused("an argument is of a kind that plans are not for");
  Ref<Entry> entry = plans.find(words);
  if (entry && !entry->plan->holds()) {
    plans.drop(entry);
    entry = {};
  }
  // What the call itself calls is part of the plan, and no request.
  struct Pause {
    PlanRequest* const waits = std::exchange(current_request, nullptr);
    ~Pause() { current_request = waits; }
  } const pause;
  const bool is_new = !entry;
  if (entry) {
    if (!run_plan(code, *entry, tensors, result)) result = runtime::execute(code, args, options);
  } else {
    result = record(code, plans, words, backend, args, options, true);
    entry = plans.find(words);
    if (entry) wait_for_kernels(plans, entry);
  }
  outcome.planned = static_cast<bool>(entry);
  if (entry) {
    outcome.plan = text_of(*entry);
    outcome.given_back = is_new ? entry->plan->given_back() : entry->plan->give_back_originals();
  } else {
    outcome.why = plans.why();
  }
  request.outcomes.push_back(std::move(outcome));
  return true;
}

// The call has another plan than the one before, or none.
bool run_by_words(const runtime::Code& code, FunctionPlans& plans, uint64_t modes, uint32_t backend,
                  std::span<Value> args, const runtime::RunOptions& options, Value& result) {
  Words words;
  SmallVector<TensorImpl*, 8> tensors;
  words.push_back(modes);
  words.push_back(backend);
  if (!append_arguments(args, words, tensors)) return false;
  if (const Ref<Entry> entry = plans.find(words)) {
    if (entry->plan->holds()) {
      return run_plan(code, *entry, tensors, result);
    }
    log(code, "an attribute or a constant has changed: the plan is dropped");
    if (is_logged(LogTag::guards)) {
      fmt::print(stderr, "[guards] {}: {}; the plan is dropped after {} runs\n", code.name, entry->plan->why_not(),
                 entry->runs.load());
    }
    plans.drop(entry);
  } else if (is_logged(LogTag::guards)) {
    log_new_arguments(code, plans, tensors);
  }
  if (plans.has_given()) {
    if (const Ref<Entry> entry = plans.take_given(words, args)) {
      return run_plan(code, *entry, tensors, result);
    }
  }
  if (plans.is_full() || Recorder::is_active() || !plans.is_second_call(words)) return false;
  result = record(code, plans, words, backend, args, options);
  return true;
}

// The call has the plan of the one before.
bool run_by_last(const runtime::Code& code, const FunctionPlans& plans, uint64_t modes, uint32_t backend, bool records,
                 std::span<const Value> args, Value& result) {
  const Reading reading;
  const Entry* entry = plans.last();
  MatchedTensors tensors;
  return entry && entry->takes(modes, backend, records, args, tensors) && entry->plan->holds() &&
         run_plan(code, *entry, tensors, result);
}

bool run(const runtime::Code& code, std::span<Value> args, const runtime::RunOptions& options, Value& result) {
  if (current_request) [[unlikely]]
    return run_requested(code, args, options, result);
  if (!plans_enabled() || options.observer || is_counted()) return false;
  FunctionPlans& plans = plans_of_code(code);
  const bool records = records_gradients();
  if (plans.is_hopeless() || (records && plans.is_paused())) return false;
  const uint32_t backend = plans.backend();
  const uint64_t modes = modes_word();
  if (modes == 0) return false;
  return run_by_last(code, plans, modes, backend, records, args, result) ||
         run_by_words(code, plans, modes, backend, args, options, result);
}

bool run_again(const runtime::Code& code, std::span<const Value> args, Value& result) {
  const auto* plans = static_cast<const FunctionPlans*>(code.plans.load(std::memory_order_acquire));
  if (!plans || !plans->last() || current_request || !plans_enabled() || is_counted()) return false;
  const uint64_t modes = modes_word();
  return modes != 0 && run_by_last(code, *plans, modes, plans->backend(), records_gradients(), args, result);
}

}  // namespace

constinit const runtime::Planner planner{run, run_again};

bool plans_enabled() {
  const int known = enabled.load(std::memory_order_relaxed);
  if (known >= 0) return known != 0;
  const char* setting = std::getenv("SCONCE_PLANS");
  const std::string_view word = setting ? setting : "on";
  SCONCE_CHECK_AS(value, word == "on" || word == "off" || word.empty(), "SCONCE_PLANS is '{}', expected on or off",
                  word);
  if (word != "off") codegen::chosen_maker();  // a word that means nothing is not passed over
  enabled.store(word != "off");
  return word != "off";
}
void set_plans_enabled(bool on) { enabled.store(on); }

PlanNow::PlanNow(PlanRequest& request) : outer_(std::exchange(current_request, &request)) {}
PlanNow::~PlanNow() { current_request = outer_; }

std::vector<PlanText> plans_of(ir::Function& function, std::string* why) {
  FunctionPlans& plans = plans_of_code(runtime::code_of(function));
  if (why) *why = plans.why();
  std::vector<PlanText> texts;
  for (const Ref<Entry>& entry : plans.entries()) texts.push_back(text_of(*entry));
  return texts;
}

void give_plan(ir::Function& function, std::span<const Value> args, std::shared_ptr<const Plan> plan) {
  Words modes, words;
  SmallVector<TensorImpl*, 8> tensors;
  if (!append_modes(modes) || !append_arguments(args, words, tensors)) return;  // those of a thread that has no plans
  plans_of_code(runtime::code_of(function)).give({Signature(words.begin(), words.end()), modes[0], std::move(plan)});
}

StepTiming::StepTiming() { set_step_timing(true); }
StepTiming::~StepTiming() { set_step_timing(false); }

void drop_plans(ir::Function& function) { plans_of_code(runtime::code_of(function)).clear(); }

}  // namespace sconce::executor
