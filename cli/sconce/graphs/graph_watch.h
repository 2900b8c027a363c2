// Runs a graph once and sees, node by node, how long it took and what shapes came out.
#pragma once

#include <vector>

#include "graphs/graph_json.h"
#include "sconce/ir/function.h"

namespace sconce::cli {

// The graph is run as it stands. One Value per input. Throws what the program throws.
GraphRun watch_graph(const ir::Graph& graph, ir::Function& function, std::vector<Value> args);

// "2×4 float32" of a tensor; of lists and tuples of tensors: "(2×4 float32, 3 int64)"; "3" of numbers; else empty.
std::string seen_text(const Value& v);

}  // namespace sconce::cli
