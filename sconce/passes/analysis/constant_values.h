// Constant folding: compares constants of a graph, and evaluates nodes on constants.
#pragma once

#include "sconce/ir/graph.h"

namespace sconce::passes {

// Whether two prim::Constant nodes make the same value of the same type. Floats by their bits, tensors
// by their elements.
bool is_same_constant(const ir::Node& a, const ir::Node& b);
size_t constant_hash(const ir::Node& node);
bool is_same_value(const sconce::Value& a, const sconce::Value& b);

// Whether the value can be written into a graph: numbers, strings, tensors without gradient, containers of such.
bool can_be_constant(const sconce::Value& v);

// The results of a node without side effects for these inputs, one value per output. Nothing when it throws or when its
// kind cannot be run here.
std::optional<std::vector<sconce::Value>> evaluate(const ir::Node& node, std::vector<sconce::Value> inputs);

}  // namespace sconce::passes
