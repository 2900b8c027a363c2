// Interpreter internals: running code, and unwinding when it fails.
#pragma once

#include <string>

#include "sconce/runtime/frames.h"

namespace sconce {
class BodyRunner;
}

namespace sconce::runtime {

// Runs code with its arguments, which are moved from. One result is itself, several are a tuple, none is None.
Value execute(const Code& code, std::span<Value> args, const RunOptions& options);
// The same by a plan, where there is one (planner.h).
Value run_code(const Code& code, std::span<Value> args, const RunOptions& options);

// `raise X(message)` in a script.
class RaisedError : public Error {
 public:
  RaisedError(std::string message, std::string exception_class);
  ~RaisedError() override;
  const std::string& exception_class() const { return exception_class_; }

 private:
  std::string exception_class_;
};

// Called in a handler for the current exception: makes a ScriptError of it, with the traceback of `ex`, calls the
// __exit__ that are due, releases all registers and throws.
[[noreturn]] SCONCE_COLD void fail_execution(Execution& ex);

// The method that a call through an interface means, by the class of the object.
ir::Function& method_of(CallSite& site, const Slot& self);

// a < b for instances of a script class, by its __lt__. Throws Error when it has none that fits.
bool object_less(const Value& a, const Value& b);
// The traceback of an error, and in `at` the place of what failed.
std::string traceback_of(const Execution& ex, Range& at);
// The source lines that this thread's script is in, innermost last; empty outside of scripts.
std::string current_lines();

// Runs bodies and derivatives of custom operators (op_bodies.cpp).
BodyRunner* graph_runner();

}  // namespace sconce::runtime
