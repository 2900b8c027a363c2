// Calling convention of exported programs: the user's arguments become inputs of the graph, and its outputs
// the user's result.
#pragma once

#include "sconce/dispatch/schema.h"
#include "sconce/ir/function.h"
#include "sconce/serialization/exported/exported_nodes.h"

namespace sconce::exported {

// Adds inputs to `graph`, one per argument of forward() after self, takes them apart, and inserts the checks of their
// structure, types and sizes. The parts get the names that the program has for them. Named tuples become types of the
// unit. Returns the arguments of the schema.
std::vector<sconce::Argument> insert_inputs(ir::Graph& graph, const Program& program, NodeBuilder& builder,
                                            NodeBuilder::Names& names, ir::CompilationUnit& unit);

// Puts the user's outputs together. Returns the value that forward() returns.
ir::Value* insert_result(ir::Graph& graph, const Program& program, NodeBuilder& builder,
                         const NodeBuilder::Names& names, ir::CompilationUnit& unit);

}  // namespace sconce::exported
