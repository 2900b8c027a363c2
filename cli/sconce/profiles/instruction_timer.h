// InstructionTimer: how often each instruction of a run was executed, and how long it took. An instruction lasts until
// the next one of its thread begins; the time that the timer itself takes is left out.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "sconce/runtime/bytecode/code.h"
#include "sconce/runtime/interpreter.h"

namespace sconce::cli {

class InstructionTimer : public runtime::Observer {
 public:
  InstructionTimer();
  ~InstructionTimer() override;

  struct Count {
    uint64_t calls = 0;
    uint64_t ns = 0;
    uint64_t run_ns = 0;         // since the last end_run
    std::vector<uint64_t> runs;  // the nanoseconds of each run that was kept; runs before the first call are missing
    void add(uint64_t took) {
      ++calls;
      ns += took;
      run_ns += took;
    }
    // `kept` runs were kept before this one.
    void end_run(size_t kept, bool keep) {
      if (keep && run_ns) {
        runs.resize(kept);
        runs.push_back(run_ns);
      }
      run_ns = 0;
    }
  };
  // What a thread does.
  struct Thread {
    size_t number = 0;  // 0 is the first that was seen
    const runtime::Code* code = nullptr;
    size_t instruction = 0;
    uint64_t since = 0;  // when it began; 0: nothing runs
    std::unordered_map<const runtime::Code*, std::vector<Count>> counts;
    std::vector<Count>* current = nullptr;  // of `code`
    size_t depth = 0;                       // of frames
    virtual ~Thread() = default;
  };

  void before(const runtime::Code& code, size_t instruction, const Value* registers) final;
  void enter(const runtime::Code& code) final;
  void leave(const runtime::Code& code) final;

  // Between two runs, when nothing runs: what was timed since the last call was one run. Of many runs, those with `keep`
  // are remembered one by one.
  void end_run(bool keep = true);
  size_t kept_runs() const { return kept_runs_; }

  // Every instruction that ran, of all threads; only when nothing runs any more.
  void for_each(const std::function<void(const runtime::Code&, size_t instruction, const Count&)>& visit) const;
  uint64_t total_ns() const;
  size_t thread_count() const { return threads_.size(); }

 protected:
  // Not timed. Called with the instruction that ended (thread.code, thread.instruction), its first and last nanosecond.
  // `registers` are those of the instruction that comes next, or null behind the last; it may be in another frame.
  virtual void ended(Thread& thread, uint64_t from, uint64_t to, const runtime::Code* next, const Value* registers);
  // Not timed. Before an instruction.
  virtual void begins(Thread& thread, const runtime::Code& code, size_t instruction, const Value* registers);
  virtual void entered(Thread& thread, const runtime::Code& code, uint64_t at);
  virtual void left(Thread& thread, const runtime::Code& code, uint64_t at);
  virtual std::unique_ptr<Thread> new_thread();
  virtual void run_ended(Thread& thread, bool keep);

 private:
  Thread& thread();
  void end(Thread& t, uint64_t now, const runtime::Code* next, const Value* registers);

  uint64_t id_;
  size_t kept_runs_ = 0;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Thread>> threads_;
};

// The middle one, or the mean of the two in the middle; 0 of none. `count` of them, those that are missing are 0.
uint64_t median_ns(std::vector<uint64_t> times, size_t count);
// Adds the times of `more` to those of `sum`, run by run.
void add_runs(std::vector<uint64_t>& sum, const std::vector<uint64_t>& more);

// Nanoseconds of a clock that never goes back.
uint64_t now_ns();

}  // namespace sconce::cli
