// Disassembly of plans: the steps that a run would be planned as, with the calls of the program that each one makes.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "sconce/base/export.h"
#include "sconce/base/function_ref.h"
#include "sconce/executor/tape.h"
#include "sconce/runtime/interpreter.h"

namespace sconce::executor {

struct PlanStep {
  std::string text;         // as in PlanText
  std::string nest;         // the loop nest that it is, or that follows its call; empty: none
  std::vector<Site> sites;  // of the calls
  std::string source;       // the nest as C++ (loops/nest_source.h), or a comment that says why there is none
};

struct PlanListing {
  std::vector<PlanStep> steps;
  size_t guards = 0, arena_bytes = 0;
  std::string why;  // there is no plan: why not
};

// Records one run of `run(options)`, which must execute a program over `args` with these options, and makes a plan of
// it. The plan is not kept. Throws what the run throws.
SCONCE_API PlanListing list_plan(std::span<Value> args, FunctionRef<Value(const runtime::RunOptions&)> run);
// The same of a function, with arguments as bind_call gives them.
SCONCE_API PlanListing list_plan(ir::Function& function, std::vector<Value> args);

}  // namespace sconce::executor
