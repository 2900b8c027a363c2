#include "sconce/executor/plan_steps.h"

#include "sconce/base/error.h"
#include "sconce/executor/execution_plan.h"
#include "sconce/executor/recorder.h"
#include "sconce/loops/nest_source.h"
#include "sconce/runtime/bytecode/code.h"
#include "sconce/runtime/execute.h"

namespace sconce::executor {
namespace {

std::string source_of(const loops::Nest& nest, const std::string& name) {
  try {
    return loops::to_source(nest, name);
  } catch (const Error& e) {
    return "// " + name + ": " + e.what() + "\n";
  }
}

}  // namespace

PlanListing list_plan(std::span<Value> args, FunctionRef<Value(const runtime::RunOptions&)> run) {
  PlanListing listing;
  std::optional<Tape> tape;
  Guards guards;
  {
    Recorder recorder(args);
    runtime::RunOptions options;
    options.observer = &recorder;
    const Value result = run(options);
    tape = recorder.finish(result);
    listing.why = recorder.why();
    guards = std::move(recorder.guards());
  }
  if (!tape) return listing;
  const std::unique_ptr<Plan> plan = make_plan(std::move(*tape), std::move(guards), listing.why);
  if (!plan) return listing;
  listing.why.clear();
  listing.guards = plan->guard_count();
  listing.arena_bytes = plan->arena_bytes();
  for (size_t i = 0; i < plan->steps().size(); ++i) {
    const loops::Nest* nest = plan->steps()[i].step->nest();
    listing.steps.push_back({plan->step_text(i), nest ? to_string(*nest) : "", plan->sites(i),
                             nest ? source_of(*nest, "nest_" + std::to_string(i)) : ""});
  }
  return listing;
}

PlanListing list_plan(ir::Function& function, std::vector<Value> args) {
  const runtime::Code& code = runtime::code_of(function);  // compiling is not to be recorded
  return list_plan(args, [&](const runtime::RunOptions& options) { return runtime::execute(code, args, options); });
}

}  // namespace sconce::executor
