// Functions from their graphs: passes, then the bytecode compiler.
#include "sconce/passes/passes.h"
#include "sconce/runtime/bytecode/compiler.h"
#include "sconce/runtime/plans/differentiable_region.h"

namespace sconce::runtime {
namespace {

// Passes work on a copy: the function's graph stays as the front end made it.
std::shared_ptr<Code> compile(ir::Function& function) {
  const std::shared_ptr<ir::Graph> graph = function.graph()->copy();
  passes::optimise(*graph);
  return generate(*graph, std::string(function.short_name()), &function.unit(), function.self_type() != nullptr);
}

std::shared_ptr<Code> with_regions(ir::Function& function, const std::shared_ptr<Code>& plain) {
  const std::shared_ptr<ir::Graph> graph = function.graph()->copy();
  passes::optimise(*graph);
  passes::remove_mutation(*graph);
  if (!passes::create_autodiff_subgraphs(*graph)) return plain;
  return generate(*graph, plain->name, plain->unit, function.self_type() != nullptr);
}

}  // namespace

constinit const GraphCompiler optimising_compiler{compile, with_regions, runs_with_regions};

}  // namespace sconce::runtime
