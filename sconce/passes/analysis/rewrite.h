// Graph rewriting: the walks and replacements that most passes use.
#pragma once

#include "sconce/base/function_ref.h"
#include "sconce/ir/graph.h"

namespace sconce::passes {

// Calls visit(node) for every node of the block and of blocks inside, inner ones before their node. `visit` may destroy
// the node it is given and insert nodes before it.
void each_node(const ir::Block& block, FunctionRef<void(ir::Node&)> visit);

// Number of nodes in the block, at all depths.
size_t count_nodes(const ir::Block& block);

// Every use of `from` becomes a use of `to`, which takes the name over if it has none.
void replace_value(ir::Value* from, ir::Value* to);
// The same for the node's only output; the node goes.
void replace_node(ir::Node& node, ir::Value* value);
// The same with a new constant in its place. The type is that of the output.
void replace_with_constant(ir::Node& node, sconce::Value value);

// A new node of the same place (range and call chain), not yet inserted.
ir::Node* create_like(const ir::Node& node, ir::Symbol kind, ListRef<ir::Value*> inputs, TypePtr output);

// The constant as an int, a bool; nothing when it is not a constant of that kind.
std::optional<int64_t> constant_int(const ir::Value* v);
std::optional<bool> constant_bool(const ir::Value* v);

// The input for the schema's argument of that name; null when the schema has none.
ir::Value* named_input(const ir::Node& node, std::string_view argument);

// Whether it asks for the sizes, the dtype or the device of a tensor, and not for its elements.
bool is_geometry_query(const ir::Node& node);

}  // namespace sconce::passes
