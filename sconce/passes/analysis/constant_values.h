// Constants of a graph: are two the same, can a value be one, what does a node give for constants?
#pragma once

#include "sconce/ir/graph.h"

namespace sconce::passes {

// Do two prim::Constant nodes make the same value of the same type? Floats by their bits, tensors by their elements.
bool is_same_constant(const ir::Node& a, const ir::Node& b);
size_t constant_hash(const ir::Node& node);
bool is_same_value(const sconce::Value& a, const sconce::Value& b);

// Can the value be written into a graph: numbers, texts, tensors without gradient, containers of such?
bool can_be_constant(const sconce::Value& v);

// What a node without effects gives for these inputs, one value per output. Nothing when it throws or when its kind
// cannot be run here.
std::optional<std::vector<sconce::Value>> evaluate(const ir::Node& node, std::vector<sconce::Value> inputs);

}  // namespace sconce::passes
