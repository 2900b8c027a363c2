#include "profiles/instruction_timer.h"

#include <algorithm>
#include <atomic>
#include <chrono>

namespace sconce::cli {
namespace {

std::atomic<uint64_t> next_id{1};

}  // namespace

uint64_t now_ns() {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
          .count());
}

uint64_t median_ns(std::vector<uint64_t> times, size_t count) {
  times.resize(count);
  if (times.empty()) return 0;
  std::sort(times.begin(), times.end());
  return (times[(count - 1) / 2] + times[count / 2]) / 2;
}

void add_runs(std::vector<uint64_t>& sum, const std::vector<uint64_t>& more) {
  if (sum.size() < more.size()) sum.resize(more.size());
  for (size_t i = 0; i < more.size(); ++i) sum[i] += more[i];
}

InstructionTimer::InstructionTimer() : id_(next_id++) {}
InstructionTimer::~InstructionTimer() = default;

InstructionTimer::Thread& InstructionTimer::thread() {
  thread_local uint64_t owner = 0;  // the timer that `mine` belongs to
  thread_local Thread* mine = nullptr;
  if (owner != id_) {
    const std::lock_guard lock(mutex_);
    threads_.push_back(new_thread());
    mine = threads_.back().get();
    mine->number = threads_.size() - 1;
    owner = id_;
  }
  return *mine;
}

void InstructionTimer::end(Thread& t, uint64_t now, const runtime::Code* next, const Value* registers) {
  if (!t.since) return;
  Count& count = (*t.current)[t.instruction];
  count.add(now - t.since);
  ended(t, t.since, now, next, registers);
  t.since = 0;
}

void InstructionTimer::before(const runtime::Code& code, size_t instruction, const Value* registers) {
  const uint64_t now = now_ns();
  Thread& t = thread();
  end(t, now, &code, registers);
  if (t.code != &code || !t.current) {
    t.code = &code;
    t.current = &t.counts[&code];
    t.current->resize(code.instructions.size());
  }
  t.instruction = instruction;
  begins(t, code, instruction, registers);
  t.since = now_ns();
}

void InstructionTimer::enter(const runtime::Code& code) {
  Thread& t = thread();
  ++t.depth;
  entered(t, code, now_ns());
}

void InstructionTimer::leave(const runtime::Code& code) {
  const uint64_t now = now_ns();
  Thread& t = thread();
  end(t, now, nullptr, nullptr);
  --t.depth;
  left(t, code, now);
}

void InstructionTimer::end_run(bool keep) {
  for (const auto& t : threads_) {
    for (auto& [code, counts] : t->counts) {
      for (Count& c : counts) c.end_run(kept_runs_, keep);
    }
    run_ended(*t, keep);
  }
  kept_runs_ += keep;
}

void InstructionTimer::for_each(const std::function<void(const runtime::Code&, size_t, const Count&)>& visit) const {
  for (const auto& t : threads_) {
    for (const auto& [code, counts] : t->counts) {
      for (size_t i = 0; i < counts.size(); ++i) {
        if (counts[i].calls) visit(*code, i, counts[i]);
      }
    }
  }
}

uint64_t InstructionTimer::total_ns() const {
  uint64_t total = 0;
  for_each([&](const runtime::Code&, size_t, const Count& count) { total += count.ns; });
  return total;
}

void InstructionTimer::ended(Thread&, uint64_t, uint64_t, const runtime::Code*, const Value*) {}
void InstructionTimer::begins(Thread&, const runtime::Code&, size_t, const Value*) {}
void InstructionTimer::entered(Thread&, const runtime::Code&, uint64_t) {}
void InstructionTimer::left(Thread&, const runtime::Code&, uint64_t) {}
void InstructionTimer::run_ended(Thread&, bool) {}
std::unique_ptr<InstructionTimer::Thread> InstructionTimer::new_thread() { return std::make_unique<Thread>(); }

}  // namespace sconce::cli
