// Peephole optimisation: local rewrites that look at one node and its inputs. The rules are in peephole_numbers.cpp,
// peephole_facts.cpp, peephole_tensors.cpp and peephole_blocks.cpp.
#include "sconce/passes/peephole/peephole.h"

#include "sconce/passes/analysis/rewrite.h"
#include "sconce/passes/passes.h"

namespace sconce::passes {

bool peephole(ir::Graph& graph) {
  LazyAlias alias(graph);
  bool changed = false;
  each_node(*graph.block(), [&](ir::Node& node) {
    if (node.is(ir::kind::If)) {
      changed |= simplify_if(node);
    } else if (node.is(ir::kind::Loop)) {
      changed |= simplify_loop(node);
    } else if (node.op()) {
      changed |= simplify_number(node) || simplify_query(node) || simplify_tensor(node, alias);
    }
  });
  return changed;
}

}  // namespace sconce::passes
