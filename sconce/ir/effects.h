// What a node does beside computing its outputs, as far as it can be told without knowing which values share memory
// (alias.h knows that, and what is written).
#pragma once

#include "sconce/ir/graph.h"

namespace sconce::ir {

// Must it stay even when nobody uses its outputs, whatever it writes to? Prints, exceptions, calls of functions,
// entering and leaving contexts, and operators that return nothing and write to no argument (warn, manual_seed). For
// control flow: does something inside? Kinds that nobody knows do.
SCONCE_API bool has_side_effects(const Node& node);
// Does it draw random numbers, or ask for the state of the program (is_grad_enabled)? Then it may give something else
// next time.
SCONCE_API bool is_nondeterministic(const Node& node);
// Calls code that is not in the graph: a function, a method, a fork.
SCONCE_API bool is_call(const Node& node);
// Can the node, or one inside it, write to memory that existed before it? Alias facts say to which.
SCONCE_API bool may_write(const Node& node);
SCONCE_API bool may_write(const Block& block);
// Can a value of this type be changed, or lead to one that can: tensors, lists, dicts, objects, tuples of those, ...?
SCONCE_API bool is_mutable(TypePtr type);

}  // namespace sconce::ir
