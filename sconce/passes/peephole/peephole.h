// Peephole optimisation: the parts of the pass. Each looks at one node and rewrites it when it can; the node may
// be gone afterwards.
#pragma once

#include "sconce/ir/graph.h"
#include "sconce/passes/analysis/lazy_alias.h"

namespace sconce::passes {

// Arithmetic and comparisons of numbers, conversions: peephole_numbers.cpp.
bool simplify_number(ir::Node& node);
// Queries that a tensor's type answers: peephole_facts.cpp.
bool simplify_query(ir::Node& node);
// Tensors that an operator returns as they are: peephole_tensors.cpp.
bool simplify_tensor(ir::Node& node, LazyAlias& alias);
// If and Loop: peephole_blocks.cpp.
bool simplify_if(ir::Node& node);
bool simplify_loop(ir::Node& node);

}  // namespace sconce::passes
