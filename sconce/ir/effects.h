// Side effects: what a node does beside computing its outputs, as far as it can be told without alias analysis
// (alias.h, which also knows what is written).
#pragma once

#include "sconce/ir/graph.h"

namespace sconce::ir {

// Whether the node must stay even if its outputs are unused, apart from what it writes: prints, exceptions, calls of
// functions, entering and leaving contexts, and operators that return nothing and write to no argument (warn,
// manual_seed). Control flow has side effects if a node inside has. Unknown kinds are taken to have some.
SCONCE_API bool has_side_effects(const Node& node);
// Whether the node draws random numbers or reads the state of the program (is_grad_enabled), so that it may give
// another result next time.
SCONCE_API bool is_nondeterministic(const Node& node);
// Calls code that is not in the graph: a function, a method, a fork.
SCONCE_API bool is_call(const Node& node);
// Whether the node, or one inside it, can write to memory that existed before it. Alias facts say to which.
SCONCE_API bool may_write(const Node& node);
SCONCE_API bool may_write(const Block& block);
// Can a value of this type be changed, or lead to one that can: tensors, lists, dicts, objects, tuples of those, ...?
SCONCE_API bool is_mutable(TypePtr type);

}  // namespace sconce::ir
