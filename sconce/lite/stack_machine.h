// Stack machine: runs stack code (Note [Stack code]).
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sconce/lite/stack_code.h"

namespace sconce::lite {

// A call that has not returned.
struct Activation {
  StackMethod* method;
  Instruction* at;                  // the current one
  std::unique_ptr<Value[]> values;  // registers, then the stack
  Value* top;                       // behind the last value of the stack
};

// Lines of the source for tracebacks (docs/small.md, `places yes`).
class Places {
 public:
  virtual ~Places() = default;
  // The traceback of these calls, of which the first is the outermost.
  virtual std::string traceback(std::span<const Activation> calls) const = 0;
};

// What ends a method: what() says where, too.
class MethodError final : public Error {
 public:
  MethodError(ErrorKind kind, std::string message, std::string exception_class);
  ~MethodError() override;
  const std::string exception_class;  // of `raise`: "builtins.ValueError", or empty
};

// Runs a method with its arguments, `self` first, which are moved from. Throws MethodError; at most
// `max_depth` calls may be in each other.
Value run_method(StackProgram& program, StackMethod& method, std::span<Value> args, const Places* places,
                 size_t max_depth = 10'000);

// Arguments as the method wants them, converted as PyTorch does at its Python boundary, with defaults. Throws Error.
void bind_arguments(const StackMethod& method, std::vector<Value>& args);

}  // namespace sconce::lite
