// Type refinement: the parts of the pass refine_types that shape_propagation uses, too.
#pragma once

#include "sconce/ir/graph.h"

namespace sconce::passes {

// The narrowest type that takes both, when one of them does or both are tensors; else null.
TypePtr common_type(TypePtr a, TypePtr b);

// Narrows the outputs of a node other than If and Loop by the types of its inputs.
bool refine_node(ir::Node& node);

}  // namespace sconce::passes
