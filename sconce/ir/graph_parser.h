// IR parser: graphs from text, everything that Graph::to_string and PyTorch print.
//
//   graph(%x : Tensor, %n : int):
//     %y : Tensor = aten::add(%x, %x, %n)     # model.py:4:8
//     return (%y)
//
// Names and numbers of values, attributes and places stay as they are, so that printing gives the text again. A value
// without a type takes it from the operator's schema, or is a Tensor. Lines of comments are skipped.
#pragma once

#include <memory>
#include <string_view>

#include "sconce/ir/graph.h"

namespace sconce::ir {

// `find` knows classes, interfaces, enums and named tuples by their qualified names; each name that it does not know
// becomes a new type of this graph. Operators are resolved (Node::op), callees are not. Throws Error (value) that names
// line and column: wrong text, a value that is not defined there, nesting of more than 200 levels.
SCONCE_API std::shared_ptr<Graph> parse_graph(std::string_view text, const FindType& find = {});

}  // namespace sconce::ir
