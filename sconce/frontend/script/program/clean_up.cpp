// The clean-up of every compiled function: the passes that PyTorch runs there, so that graphs are equal to its own.
#include "sconce/frontend/script/ssa/to_ssa.h"
#include "sconce/passes/passes.h"

namespace sconce::script {

void clean_up(ir::Graph& graph) {
  passes::normalize_ops(graph);
  passes::normalize_ops(graph);
  passes::lower_simple_tuples(graph);
  passes::constant_propagation_immutable(graph);
  passes::dead_code(graph);
  passes::constant_pooling(graph);
  passes::canonicalize_outputs(graph);
}

}  // namespace sconce::script
