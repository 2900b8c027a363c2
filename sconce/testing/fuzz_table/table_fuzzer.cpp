#include "sconce/testing/fuzz_table/table_fuzzer.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "sconce/autograd/backward.h"
#include "sconce/autograd/variable.h"
#include "sconce/base/budget.h"
#include "sconce/base/error.h"
#include "sconce/dispatch/registry.h"
#include "sconce/tensor/element.h"
#include "sconce/tensor/generator.h"
#include "sconce/tensor/grad_mode.h"
#include "sconce/testing/conformance/case_file.h"
#include "sconce/testing/conformance/case_tree.h"
#include "sconce/testing/conformance/case_value.h"
#include "sconce/testing/conformance/recorded_call.h"
#include "sconce/testing/conformance/suite.h"
#include "sconce/testing/fuzz_table/fault_report.h"
#include "sconce/testing/fuzz_table/guard_pages.h"
#include "sconce/testing/fuzz_table/hostile_values.h"
#include "sconce/testing/process_time.h"
#include "sconce/testing/sanitizers.h"

namespace sconce::testing {

thread_local bool guard_new = false;

namespace {

constexpr uint64_t kCallsPerChild = 20'000;
#if SCONCE_UNDER_ASAN
constexpr int kSecondsPerCall = 10;
#else
constexpr int kSecondsPerCall = 2;  // of processor time
#endif
constexpr std::chrono::milliseconds kTimeLimit(1000);
constexpr double kWallSeconds = 30;           // without processor time: a call that waits for ever
constexpr double kComputes = 0.1;             // of processor time in that while: it does not wait
constexpr size_t kMemory = size_t{1} << 30;   // that a child may take
constexpr size_t kQuota = size_t{512} << 20;  // of one call
constexpr int kMostResults = 100;             // of a call that are read
constexpr int kMostTries = 60;                // to make a finding smaller

// Operators that end or block the process by what they are for, and those that only the interpreter calls, with as many
// results as its graph says. Everything else is called.
const char* reason_to_skip(const Op& op) {
  if (op.schema().is_varret) return "has as many results as a graph asks for: only the interpreter calls it";
  return nullptr;
}

struct Recording {
  size_t file, index;
};

struct Target {
  const Op* op;
  std::string name;
  std::vector<Recording> recordings;
  uint64_t next = 0;  // number of its next call
  int failures = 0;
  bool left = false;
};

enum class Phase : uint32_t { building, calling, looking, backward, again };
const char* phase_name(Phase p) {
  constexpr const char* names[] = {"while arguments were made", "", "while its results were read", "in backward",
                                   "in backward of backward"};
  return names[static_cast<int>(p)];
}

// What a child tells its parent.
struct Shared {
  std::atomic<uint64_t> position;
  std::atomic<Phase> phase;
  uint64_t returned, refused, backwards, internal;
  FaultReport fault;
  char note[2048];  // of internal errors: "position text"
  uint64_t note_position;
  bool has_note;
};

uint64_t hash(uint64_t seed, std::string_view name, uint64_t number) {
  uint64_t h = 0xcbf29ce484222325u ^ seed;
  for (const char c : name) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  h ^= number * 0x9e3779b97f4a7c15u;
  h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9u;
  h = (h ^ h >> 27) * 0x94d049bb133111ebu;
  return h ^ h >> 31;
}

// Every element of a result is memory that it has.
void look_at(const Tensor& t) {
  if (!t.defined() || t.is_meta() || t.layout() != Layout::strided || t.numel() == 0 || t.numel() > 1'000'000) return;
  const size_t item = t.item_size();
  const auto sizes = t.sizes(), strides = t.strides();
  std::vector<int64_t> index(sizes.size());
  const auto* at = static_cast<const volatile char*>(t.data());
  for (;;) {
    [[maybe_unused]] const char first = at[0], last = at[item - 1];
    size_t d = sizes.size();
    while (d > 0 && index[d - 1] + 1 == sizes[d - 1]) {
      at -= index[d - 1] * strides[d - 1] * static_cast<int64_t>(item);
      index[--d] = 0;
    }
    if (d == 0) return;
    ++index[d - 1];
    at += strides[d - 1] * static_cast<int64_t>(item);
  }
}

// One step to a smaller call: argument `argument` as simplified(...) gives it at `step`.
struct Edit {
  size_t argument;
  int step;
};

class GuardedNew {
 public:
  GuardedNew() { guard_new = true; }
  ~GuardedNew() { guard_new = false; }
};

// Lists of numbers again, in memory of their own size.
void guard_lists(std::vector<Value>& args) {
  const GuardedNew guarded;
  for (Value& v : args) {
    if (v.is_list() && !v.to_list().is_tensors()) v = Value(v.to_list().copy());
  }
}

class Fuzzer {
 public:
  explicit Fuzzer(const FuzzOptions& options) : options_(options) {
    find_op("torchvision::nms");  // loads the extensions
    find_op("torchaudio::rnnt_loss");
    const auto chosen = [&](const std::string& name) {
      if (options.ops.empty()) return true;
      for (const std::string& filter : options.ops) {
        if (filter == name || selects(filter, name) || (filter.ends_with("::") && name.starts_with(filter)))
          return true;
      }
      return false;
    };
    std::map<std::string, int> skipped;
    std::map<const Op*, size_t> places;
    for (const Op* op : all_ops()) {
      std::string name = op->qualified_name();
      if (!chosen(name)) continue;
      if (const char* reason = reason_to_skip(*op)) {
        ++skipped[reason];
        continue;
      }
      places[op] = targets_.size();
      targets_.push_back({op, std::move(name), {}, 0, 0, false});
    }
    for (const auto& [reason, count] : skipped) std::printf("left out: %d overloads: %s\n", count, reason.c_str());
    for (const std::string& path : options.recorded) {
      for (const CaseFolder& folder : find_cases(path)) {
        for (const std::string& file : folder.files) read_cases(file, places);
      }
    }
    figures_.overloads = targets_.size();
  }

  FuzzFigures run() {
    shared_ = static_cast<Shared*>(
        ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    SCONCE_CHECK(shared_ != MAP_FAILED, "cannot share memory with child processes: {}", std::strerror(errno));
    const auto start = std::chrono::steady_clock::now();
    const auto over = [&] {
      const double now = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      return figures_.calls >= options_.calls || (options_.seconds > 0 && now > options_.seconds);
    };
    if (targets_.empty()) return figures_;
    for (size_t turn = 0; !over();) {
      std::vector<Turn> turns;
      uint64_t planned = 0;
      while (planned < kCallsPerChild && planned + figures_.calls < options_.calls && turns.size() < targets_.size()) {
        Target& target = targets_[turn++ % targets_.size()];
        if (target.left) {
          turns.push_back({&target, 0, 0});
          continue;
        }
        const uint64_t count = std::min(options_.calls_per_turn, options_.calls - figures_.calls - planned);
        turns.push_back({&target, target.next, count});
        target.next += count;
        planned += count;
      }
      if (planned == 0) break;  // all were left
      run_turns(turns);
      report_progress(over());
    }
    for (const Target& target : targets_) {
      if (target.left) std::printf("left after %d failures: %s\n", target.failures, target.name.c_str());
    }
    return figures_;
  }

  void run_alone(const std::string& name, uint64_t number) {
    for (const Target& target : targets_) {
      if (target.name != name) continue;
      guard_blocks = true;
      CallArguments call = arguments_of(target, number);
      guard_lists(call.args);
      std::printf("%s\n", text_of(target, call.args).c_str());
      std::fflush(stdout);
      Shared local{};
      shared_ = &local;
      set_call_limits();
      perform(target, call, 0);
      std::printf("%s\n", local.has_note    ? local.note
                          : local.refused   ? ("refused: " + last_error_).c_str()
                          : local.backwards ? ("returned; backward ran " + last_error_).c_str()
                                            : "returned");
      return;
    }
    fail("there is no operator {}", name);
  }

 private:
  struct Turn {
    Target* target;
    uint64_t first, count;
  };
  struct CallArguments {
    std::vector<Value> args;
    HostileValues values;
  };
  struct Finding {
    std::string kind, place;
  };

  void read_cases(const std::string& path, const std::map<const Op*, size_t>& places) {
    std::optional<CaseFile> file;
    try {
      file = CaseFile::open(path);
    } catch (const Error& e) {
      return void(std::printf("left out: %s\n", e.what()));
    }
    bool used = false;
    for (size_t i = 0; i < file->size(); ++i) {
      const Json& json = file->at(i);
      if (!is_call(json)) continue;
      const Op* op = find_op(json.at("op").get<std::string>());
      const auto place = places.find(op);
      if (place == places.end()) continue;
      targets_[place->second].recordings.push_back({files_.size(), i});
      ++figures_.recorded_calls;
      used = true;
    }
    if (used) files_.push_back(std::move(*file));
  }

  CallArguments arguments_of(const Target& target, uint64_t number) const {
    const uint64_t seed = hash(options_.seed, target.name, number);
    constexpr uint8_t fills[] = {0xa5, 0xff, 0x7f, 0x00, 0xa5, 0xff, 0x01, 0x80};
    set_guard_style({fills[seed % 8], static_cast<uint8_t>(seed >> 8 & 1 ? 0 : 2)});
    CallArguments call{{}, HostileValues(seed)};
    manual_seed(seed);
    if (number % 2 == 1 && !target.recordings.empty()) {
      const Recording& r = target.recordings[call.values.below(target.recordings.size())];
      try {
        const CaseFile& file = files_[r.file];
        RecordedCall recorded = bind_call(*target.op, file.at(r.index), file.tensors(), false);
        if (recorded.op == target.op) {
          call.args = std::move(recorded.args);
          call.values.mutate(target.op->schema(), call.args);
          call.values.guard(call.args);
          return call;
        }
      } catch (const Error&) {
      }
    }
    call.args = call.values.arguments(target.op->schema());
    return call;
  }

  // In a child: the call, its results, their gradients.
  void perform(const Target& target, CallArguments& call, uint64_t position) {
    set_grad_enabled(true);
    const std::vector<Value> held = call.args;  // alive until gradients were computed
    std::vector<Value> returns(target.op->schema().returns.size());
    try {
      // Long work ends with an Error: what goes on for kSecondsPerCall does not look at the time.
      const auto budget = std::make_shared<Budget>(Limits{.memory = kQuota, .timeout = kTimeLimit});
      const ActiveBudget quota(budget.get());
      const GuardedNew guarded;
      shared_->phase = Phase::calling;
      target.op->call_boxed(call.args.data(), returns.data());
      shared_->phase = Phase::looking;
      std::vector<Tensor> outputs, grads;
      int looked = 0;
      for (const Value& v : flatten(returns)) {
        if (!v.is_tensor() || ++looked > kMostResults) continue;
        look_at(v.to_tensor());
        const Tensor& t = v.to_tensor();
        if (!t.requires_grad() || autograd::is_leaf(t) || t.numel() > 1'000'000) continue;
        if (Tensor grad = call.values.gradient_for(t); grad.defined()) {
          outputs.push_back(t);
          grads.push_back(grad);
        }
      }
      ++shared_->returned;
      if (!outputs.empty()) run_backward(call, held, outputs, grads);
    } catch (const Error& e) {
      ++shared_->refused;
      note(e, position);
    } catch (const std::exception& e) {  // no memory
      ++shared_->refused;
      last_error_ = e.what();
    }
    set_grad_enabled(true);
  }

  void run_backward(CallArguments& call, const std::vector<Value>& held, const std::vector<Tensor>& outputs,
                    const std::vector<Tensor>& grads) {
    shared_->phase = Phase::backward;
    ++shared_->backwards;
    autograd::BackwardOptions how;
    how.create_graph = call.values.chance(25);
    autograd::backward(outputs, grads, how);
    std::vector<Tensor> first, second;
    for (const Value& v : flatten(held)) {
      if (!v.is_tensor() || !autograd::is_leaf(v.to_tensor()) || !v.to_tensor().requires_grad()) continue;
      const Tensor grad = autograd::grad(v.to_tensor());
      if (!grad.defined()) continue;
      look_at(grad);
      if (!how.create_graph || !grad.requires_grad()) continue;
      if (Tensor g = call.values.gradient_for(grad); g.defined()) {
        first.push_back(grad);
        second.push_back(g);
      }
    }
    if (first.empty()) return;
    shared_->phase = Phase::again;
    autograd::backward(first, second);
  }

  void note(const Error& e, uint64_t position) {
    last_error_ = e.message();
    if (e.kind() != ErrorKind::internal) return;
    ++shared_->internal;
    if (shared_->has_note) return;
    shared_->has_note = true;
    shared_->note_position = position;
    std::snprintf(shared_->note, sizeof shared_->note, "%s", e.what());
  }

  static void set_call_limits() {
    rlimit limit{};
    std::ifstream status("/proc/self/statm");
    size_t pages = 0;
    status >> pages;
    limit.rlim_cur = limit.rlim_max = pages * 4096 + kMemory;
#if !SCONCE_UNDER_ASAN
    if (pages != 0) ::setrlimit(RLIMIT_AS, &limit);
#endif
    limit.rlim_cur = limit.rlim_max = 0;
    ::setrlimit(RLIMIT_CORE, &limit);
  }

  static void restart_timer() {
    const itimerval timer{{0, 0}, {kSecondsPerCall, 0}};
    ::setitimer(ITIMER_PROF, &timer, nullptr);
  }

  // The life of a child: calls [from, to) of the turns.
  [[noreturn]] void work(const std::vector<Turn>& turns, uint64_t from, const std::vector<Edit>& edits, bool only_one) {
    const int quiet = ::open("/dev/null", O_RDWR);
    ::dup2(quiet, 0);
    ::dup2(quiet, 1);
    ::dup2(quiet, 2);
    install_fault_handler(&shared_->fault);
    guard_blocks = true;
    set_call_limits();
    uint64_t position = 0;
    for (const Turn& turn : turns) {
      for (uint64_t i = 0; i < turn.count; ++i, ++position) {
        if (position < from || turn.target->left) continue;
        shared_->position = position;
        shared_->phase = Phase::building;
        restart_timer();
        try {
          CallArguments call = arguments_of(*turn.target, turn.first + i);
          for (const Edit& edit : edits) apply(*turn.target, call, edit);
          guard_lists(call.args);
          perform(*turn.target, call, position);
        } catch (const std::exception&) {  // no memory for the arguments
          ++shared_->refused;
        }
        if (only_one) ::_exit(0);
        if (shared_->has_note) ::_exit(kNoteStatus);
      }
    }
    ::_exit(0);
  }

  static void apply(const Target& target, CallArguments& call, const Edit& edit) {
    const Schema& schema = target.op->schema();
    if (edit.argument >= schema.arguments.size()) return;
    if (auto simple = simplified(call.args[edit.argument], schema.arguments[edit.argument], edit.step)) {
      call.args[edit.argument] = *simple;
    }
  }

  enum class End { done, failed, blocked, noted };

  // Runs a child to its end.
  End run_child(const std::vector<Turn>& turns, uint64_t from, const std::vector<Edit>& edits, bool only_one) {
    shared_->fault.signal = 0;
    shared_->fault.count = 0;
    shared_->has_note = false;
    shared_->position = from;
    std::fflush(nullptr);
    const pid_t child = ::fork();
    SCONCE_CHECK(child >= 0, "cannot start a process: {}", std::strerror(errno));
    if (child == 0) work(turns, from, edits, only_one);
    uint64_t last = from;
    auto since = std::chrono::steady_clock::now();
    double used_before = 0;
    for (int pause = 100;; pause = std::min(pause * 2, 20'000)) {
      int status = 0;
      if (::waitpid(child, &status, WNOHANG) == child) {
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return End::done;
        if (WIFEXITED(status) && WEXITSTATUS(status) == kNoteStatus) return End::noted;
        // A sanitizer ends the process itself, and so does the system when there is no memory.
        if (shared_->fault.signal == 0) shared_->fault.signal = WIFSIGNALED(status) ? WTERMSIG(status) : SIGABRT;
        return End::failed;
      }
      const auto now = std::chrono::steady_clock::now();
      if (shared_->position != last) last = shared_->position, since = now;
      if (std::chrono::duration<double>(now - since).count() > kWallSeconds) {
        // A child that computes, as slowly as a busy machine lets it, is ended by its own timer.
        if (const double used = processor_seconds(child); used > used_before + kComputes) {
          used_before = used;
          since = now;
          continue;
        }
        ::kill(child, SIGKILL);
        ::waitpid(child, &status, 0);
        return End::blocked;
      }
      ::usleep(static_cast<useconds_t>(pause));
    }
  }

  void run_turns(const std::vector<Turn>& turns) {
    uint64_t total = 0;
    for (const Turn& turn : turns) total += turn.count;
    for (uint64_t from = 0; from < total;) {
      shared_->returned = shared_->refused = shared_->backwards = shared_->internal = 0;
      const End end = run_child(turns, from, {}, false);
      figures_.returned += shared_->returned;
      figures_.refused += shared_->refused;
      figures_.backwards += shared_->backwards;
      figures_.internal += shared_->internal;
      const uint64_t position = shared_->position;
      if (end == End::done) {
        figures_.calls += count_calls(turns, from, total);
        return;
      }
      figures_.calls += count_calls(turns, from, position + 1);
      report(turns, position, end);
      from = position + 1;
    }
  }

  static uint64_t count_calls(const std::vector<Turn>& turns, uint64_t from, uint64_t to) {
    uint64_t position = 0, count = 0;
    for (const Turn& turn : turns) {
      for (uint64_t i = 0; i < turn.count; ++i, ++position)
        count += position >= from && position < to && !turn.target->left;
    }
    return count;
  }

  Finding place_of(End end) const {
    if (end == End::noted) return {"internal error", std::string(shared_->note).substr(0, 300)};
    if (end == End::blocked) return {"blocked for 30 s", ""};
    Finding finding{fault_text(shared_->fault), ""};
    const std::vector<std::string> frames = fault_frames(shared_->fault);
    int shown = 0;
    for (const std::string& frame : frames) {
      // Neither the C library's own nor what is the same in all calls.
      if (frame.find("Fuzzer::") != std::string::npos || frame.find("call_boxed") != std::string::npos) break;
      if (frame.empty() || frame.find("complain(") != std::string::npos || frame.starts_with("__") ||
          frame == "abort" || frame == "raise")
        continue;
      finding.place += (finding.place.empty() ? "" : " < ") + frame;
      if (++shown == 5) break;
    }
    return finding;
  }

  void report(const std::vector<Turn>& turns, uint64_t position, End end) {
    uint64_t before = 0;
    for (const Turn& turn : turns) {
      if (position >= before + turn.count) {
        before += turn.count;
        continue;
      }
      Target& target = *turn.target;
      const bool hang = end == End::blocked || (end == End::failed && shared_->fault.signal == SIGPROF);
      if (end != End::noted) ++(hang ? figures_.hangs : figures_.crashes);
      const Phase phase = shared_->phase;
      const Finding finding = place_of(end);
      if (++target.failures >= options_.give_up) target.left = true;
      const std::string kind = finding.kind.substr(0, finding.kind.find(" 0x"));
      const std::string key = target.name + kind + finding.place.substr(0, finding.place.find(" < "));
      if (!seen_.insert(key).second) return;
      ++figures_.findings;
      const uint64_t number = turn.first + position - before;
      std::vector<Edit> edits;
      bool alone = true;
      if (!hang && options_.shrink) alone = shrink(target, number, end, edits);
      std::string text = target.name;
      try {
        CallArguments call = arguments_of(target, number);
        for (const Edit& edit : edits) apply(target, call, edit);
        text = text_of(target, call.args);
      } catch (const std::exception& e) {
        text += std::string(": its arguments cannot be made: ") + e.what();
      }
      std::printf("%s: %s %s\n  at %s\n  %s\n  --seed %llu --one %s %llu%s\n", hang ? "HANG" : "FAILED",
                  finding.kind.c_str(), phase_name(phase), finding.place.c_str(), text.c_str(),
                  static_cast<unsigned long long>(options_.seed), target.name.c_str(),
                  static_cast<unsigned long long>(number), alone ? "" : " (not alone: only after the calls before it)");
      std::fflush(stdout);
      return;
    }
  }

  // Arguments one by one simpler, as long as it fails in the same place. False when the call alone does not fail.
  bool shrink(Target& target, uint64_t number, End end, std::vector<Edit>& edits) {
    const void* place = fault_place(shared_->fault);
    const std::vector<Turn> one = {{&target, number, 1}};
    const bool was_left = target.left;
    target.left = false;
    const auto fails = [&] {
      if (run_child(one, 0, edits, true) != (end == End::noted ? End::done : end)) return false;
      return end == End::noted ? shared_->has_note : fault_place(shared_->fault) == place;
    };
    const bool alone = fails();
    int tries = 0;
    for (size_t i = 0; alone && i < target.op->schema().arguments.size(); ++i) {
      for (int step = 0; step < 12 && tries < kMostTries; ++step, ++tries) {
        edits.push_back({i, step});
        if (!fails()) edits.pop_back();
      }
    }
    target.left = was_left;
    return alone;
  }

  static std::string text_of(const Target& target, const std::vector<Value>& args) {
    std::string text = target.name + "(";
    const Schema& schema = target.op->schema();
    for (size_t i = 0; i < args.size(); ++i) {
      if (i > 0) text += ", ";
      if (i < schema.arguments.size()) text += schema.arguments[i].name + "=";
      text += describe(args[i]);
    }
    return text + ")";
  }

  void report_progress(bool last) {
    if (!last && figures_.calls < next_report_) return;
    next_report_ = figures_.calls + 200'000;
    std::printf(
        "%llu calls: %llu returned, %llu refused, %llu backwards; %llu crashes, %llu hangs, %llu internal errors\n",
        static_cast<unsigned long long>(figures_.calls), static_cast<unsigned long long>(figures_.returned),
        static_cast<unsigned long long>(figures_.refused), static_cast<unsigned long long>(figures_.backwards),
        static_cast<unsigned long long>(figures_.crashes), static_cast<unsigned long long>(figures_.hangs),
        static_cast<unsigned long long>(figures_.internal));
    std::fflush(stdout);
  }

  static constexpr int kNoteStatus = 67;
  const FuzzOptions& options_;
  std::vector<Target> targets_;
  std::vector<CaseFile> files_;
  FuzzFigures figures_;
  std::set<std::string> seen_;
  Shared* shared_ = nullptr;
  std::string last_error_;
  uint64_t next_report_ = 200'000;
};

}  // namespace

FuzzFigures fuzz_table(const FuzzOptions& options) { return Fuzzer(options).run(); }

void fuzz_one_call(const FuzzOptions& options, const std::string& op, uint64_t number) {
  Fuzzer(options).run_alone(op, number);
}

}  // namespace sconce::testing
