// Interpreter: runs functions as register bytecode (bytecode.h). docs/runtime.md says how it works.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "sconce/ir/function.h"

namespace sconce::runtime {

struct Code;

// Observer: sees every instruction, for profilers and debuggers. A run without observer pays nothing for it. It sees
// forked tasks, too, from their threads and perhaps after run() has returned (see finish_tasks in fork.h).
struct SCONCE_API Observer {
  virtual ~Observer();
  // Before every instruction; `registers` is its frame (Note [Registers] in bytecode.h).
  virtual void before(const Code& code, size_t instruction, const Value* registers) = 0;
  // A frame begins and ends. An error ends all frames of a run with one leave(), that of the first.
  virtual void enter(const Code& code);
  virtual void leave(const Code& code);
};

// From now on sees every run that has no observer of its own, in all threads; null ends that. For tools that profile
// whole calls (jit::Module's with its hooks), while nothing else runs.
SCONCE_API void observe_all_runs(Observer* observer);

// Options of one run, and of the tasks that it forks. Limits on steps, work, memory and time are the Budget of the
// thread (base/budget.h); its tasks draw from the same one.
struct RunOptions {
  size_t max_depth = 10'000;  // of calls
  Observer* observer = nullptr;
};

// Calls `function` with one Value per schema argument (defaults filled in by the caller, see bind_call) and returns its
// result; several returns are a tuple. The arguments are moved from. Throws ScriptError, and Error for arguments that
// do not fit. Safe from many threads.
SCONCE_API Value run(ir::Function& function, std::span<Value> args, const RunOptions& options = {});

// Positional and keyword arguments as the function's schema wants them, converted as PyTorch does at its Python
// boundary (bool and int taken for float, lists copied, ...). Throws Error: "f() expected at most 1 argument(s) but
// received 2 ...".
SCONCE_API std::vector<Value> bind_call(ir::Function& function, std::vector<Value> args,
                                        std::vector<std::pair<std::string, Value>> kwargs = {});

// A run-time error: what() has the traceback of script frames, the failing line underlined, and the reason.
class SCONCE_API ScriptError : public Error {
 public:
  ScriptError(ErrorKind kind, std::string what, std::string reason, std::string exception_class, Range at);
  ~ScriptError() override;
  const std::string& reason() const { return reason_; }                    // "negative: -1"
  const std::string& exception_class() const { return exception_class_; }  // "builtins.ValueError", or empty
  const Range& at() const { return at_; }

 private:
  std::string reason_, exception_class_;
  Range at_;
};

}  // namespace sconce::runtime
