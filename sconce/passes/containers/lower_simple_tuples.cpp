// Scalar replacement of tuples, the simple form: uses of elements no longer need the tuples that the graph makes.
//   %t : (A, B) = prim::TupleConstruct(%a, %b)
//   %x : A, %y : B = prim::TupleUnpack(%t)          =>  %a, %b     likewise TupleIndex and TupleSlice
// The frontend's clean-up. It leaves control flow alone; unpack_tuples does more.
#include "sconce/passes/analysis/rewrite.h"
#include "sconce/passes/containers/tuple_parts.h"
#include "sconce/passes/passes.h"

namespace sconce::passes {
namespace {

bool lower(const ir::Block& block) {
  bool changed = false;
  for (ir::Node* node : block.nodes()) {
    for (const ir::Block* inner : node->blocks()) changed |= lower(*inner);
    changed |= take_apart(*node);
  }
  return changed;
}

}  // namespace

bool lower_simple_tuples(ir::Graph& graph) {
  const bool changed = lower(*graph.block());
  return dead_code(graph) || changed;
}

}  // namespace sconce::passes
