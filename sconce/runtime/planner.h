// Planner: the compiler of runs, as the interpreter asks for it (Note [Connections] in connect/sconce.cpp).
#pragma once

#include <span>

#include "sconce/runtime/bytecode/code.h"
#include "sconce/runtime/interpreter.h"

namespace sconce::runtime {

struct Planner {
  // Runs the call by a plan, or records it to make one. False: nothing has happened, and the interpreter is to run it.
  bool (*run)(const Code& code, std::span<Value> args, const RunOptions& options, Value& result);
};
extern const Planner* const planner;  // null in a library without plans

}  // namespace sconce::runtime
