#include "sconce/api/compile/inference.h"

#include "sconce/executor/function_plans.h"
#include "sconce/executor/graph_backend.h"
#include "sconce/passes/freeze/freeze_module.h"
#include "sconce/tensor/memory/mapped_files.h"

namespace sconce::jit {

Module freeze(const Module& module, const FreezeOptions& options) {
  passes::FreezeOptions given;
  given.preserved = options.preserved;
  given.fold_numerics = options.optimize_numerics;
  return Module(module.unit(), passes::freeze(*module.unit(), module.value(), given));
}

Module optimize_for_inference(const Module& module, const std::vector<std::string>& other_methods) {
  if (!module.has_attr("training")) {
    for (const std::string& name : other_methods) static_cast<void>(module.method(name));  // throws for an unknown one
    return module;
  }
  Module frozen = freeze(module, {other_methods, true});
  // Weights that became part of others were read, and will hardly be again.
  for (const auto& [name, tensor] : module.state_dict()) {
    if (!tensor.is_meta() && tensor.is_contiguous())
      give_back_pages(tensor.data(), static_cast<size_t>(tensor.numel()) * tensor.item_size());
  }
  return frozen;
}

Compiled compile(const Module& module, std::vector<Value> example_inputs, const ModuleCompileOptions& options) {
  if (!options.backend.empty()) static_cast<void>(executor::backend_number(options.backend));  // throws for a wrong one
  executor::PlanRequest request;
  request.backend = options.backend;
  Compiled done;
  {
    const executor::PlanNow now(request);
    done.result = options.method == "forward" ? module.call(std::move(example_inputs))
                                              : module.method(options.method).call(std::move(example_inputs));
  }
  // With hooks there are others beside the method.
  const executor::PlanRequest::Outcome* found = nullptr;
  for (const executor::PlanRequest::Outcome& outcome : request.outcomes) {
    if (!found || outcome.function == options.method) found = &outcome;
  }
  SCONCE_ASSERT(found);
  done.planned = found->planned;
  done.why = found->why;
  done.steps = found->plan.steps;
  done.guards = found->plan.guards;
  done.memory_bytes = found->plan.arena_bytes;
  done.plan = found->plan.text;
  done.given_back_bytes = found->given_back;
  return done;
}

}  // namespace sconce::jit
