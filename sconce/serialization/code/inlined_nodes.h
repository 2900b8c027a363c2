// Expression folding: chooses the nodes that are written inside the expression that uses them.
#pragma once

#include <unordered_set>

#include "sconce/ir/graph.h"

namespace sconce {

// A node whose one value is used once, by a node that is evaluated next in the text as in the graph:
//   %a = f(%x);  %b = g(%y);  %c = h(%a, %b)     h(f(x), g(y))
//   %a = f(%x);  %b = g(%y);  %c = h(%b, %a)     a = f(x); b = g(y); h(b, a)
// Values that have a name keep it, unless they are the results of the block. Blocks of nodes are looked at, too.
std::unordered_set<const ir::Node*> find_inlined_nodes(const ir::Graph& graph);

// The name that a value has of its own; empty when it has none.
std::string_view given_name(const ir::Value* v);

}  // namespace sconce
