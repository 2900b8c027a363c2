// Inlining of graphs: the nodes of one graph copied into another, in place of a node or beside it.
#pragma once

#include "sconce/ir/graph.h"

namespace sconce::lowering {

// Copies the nodes of `graph` before `at`, with these values for its inputs; gives the values of its outputs. The
// copies have the place of `like` in the program's text.
std::vector<ir::Value*> splice(const ir::Graph& graph, ListRef<ir::Value*> inputs, ir::Node& at, const ir::Node& like);

// Replaces a node by a graph with one input per argument of its operator and one output per result. Arguments that the
// node does not give have their default values. Names of results are kept.
void replace_by(ir::Node& node, const ir::Graph& graph);

}  // namespace sconce::lowering
