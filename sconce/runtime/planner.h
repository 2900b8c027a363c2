// Planner: the compiler of runs, as the interpreter asks for it (Note [Connections] in connect/sconce.cpp).
#pragma once

#include <span>

#include "sconce/runtime/bytecode/code.h"
#include "sconce/runtime/interpreter.h"

namespace sconce::runtime {

struct Planner {
  // Runs the call by a plan, or records it to make one. False: nothing has happened, and the interpreter is to run it.
  bool (*run)(const Code& code, std::span<Value> args, const RunOptions& options, Value& result);
  // Runs the call by the plan of the call before, where it is for this one, too. The arguments, one Value per schema
  // argument and perhaps not of its type, are not moved from and need not be owned. False: nothing has happened.
  bool (*run_again)(const Code& code, std::span<const Value> args, Value& result);
};
extern const Planner* const planner;  // null in a library without plans

// The same for a function.
SCONCE_API bool run_again(ir::Function& function, std::span<const Value> args, Value& result);

}  // namespace sconce::runtime
