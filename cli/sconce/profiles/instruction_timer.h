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

 private:
  Thread& thread();
  void end(Thread& t, uint64_t now, const runtime::Code* next, const Value* registers);

  uint64_t id_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Thread>> threads_;
};

// Nanoseconds of a clock that never goes back.
uint64_t now_ns();

}  // namespace sconce::cli
