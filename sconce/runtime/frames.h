// Call stack: a contiguous stack of registers, the frames on it, and the context managers that are entered. Executions
// come from a pool of the thread, so that entering the interpreter allocates nothing.
#pragma once

#include <vector>

#include "sconce/runtime/bytecode/code.h"
#include "sconce/runtime/interpreter.h"

namespace sconce::runtime {

// A caller, to be resumed.
struct Frame {
  const Instruction* pc;  // its call instruction
  Slot* base;
  const Code* code;
};

struct Execution {
  Slot* stack = nullptr;
  Slot* limit = nullptr;
  std::vector<Frame> frames;
  struct Entered {
    Value object;
    size_t depth;  // frames.size() when it was entered
  };
  std::vector<Entered> entered;
  // Where the interpreter is; kept up to date where something may throw.
  const Instruction* pc = nullptr;
  Slot* base = nullptr;
  const Code* code = nullptr;

  Execution();
  ~Execution();
  Execution(const Execution&) = delete;
  // Room for `registers` more from `base`: the stack may move, `base` and the frames with it. Returns the new base.
  Slot* grow(Slot* at, size_t registers);
};

// The execution that this thread is in, null if none.
Execution* current_execution() noexcept;

// Takes an execution from the thread's pool for a scope.
class ExecutionLease {
 public:
  ExecutionLease();
  ~ExecutionLease();
  ExecutionLease(const ExecutionLease&) = delete;
  Execution& operator*() const { return *execution_; }
  Execution* operator->() const { return execution_; }

 private:
  Execution* execution_;
  Execution* outer_;
};

}  // namespace sconce::runtime
