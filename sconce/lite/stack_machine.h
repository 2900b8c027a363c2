// Stack machine: runs stack code (Note [Stack code]).
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sconce/lite/stack_code.h"

namespace sconce::lite {

// A call that has not returned, in front of its values: registers, then the stack.
struct Activation {
  Activation* caller;  // null: none
  StackMethod* method;
  Instruction* at;  // the current one
  Value* top;       // behind the last value of the stack
  Value* values() { return reinterpret_cast<Value*>(this + 1); }
};

// Lines of the source for tracebacks (docs/small.md, `places yes`).
class Places {
 public:
  virtual ~Places() = default;
  // The traceback of this call and its callers.
  virtual std::string traceback(const Activation* innermost) const = 0;
};

// What ends a method: what() has the reason, as `raise` or an operator gave it, with the lines that led there.
class MethodError final : public Error {
 public:
  MethodError(const Error& reason, std::string_view lines, std::string_view exception_class);
  ~MethodError() override;
  std::string exception_class;  // of `raise`: "builtins.ValueError", or empty
};

// Runs a method with its arguments, `self` first, which are moved from. Throws MethodError; at most
// `max_depth` calls may be in each other.
Value run_method(StackProgram& program, StackMethod& method, std::span<Value> args, const Places* places,
                 size_t max_depth = 10'000);

// Arguments as the method wants them, converted as PyTorch does at its Python boundary, with defaults. Throws Error.
void bind_arguments(const StackMethod& method, std::vector<Value>& args);

}  // namespace sconce::lite
