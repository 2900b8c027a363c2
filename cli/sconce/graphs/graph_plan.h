// What the planner makes of a graph: the steps of a run, and which nodes each one makes.
#pragma once

#include "graphs/graph_json.h"
#include "sconce/ir/function.h"

namespace sconce::cli {

// Runs the graph as it stands and sets steps and Node::step of `run`. Where there is no plan, there are no steps.
void find_steps(const ir::Graph& graph, ir::Function& function, std::vector<Value> args, GraphRun& run);

}  // namespace sconce::cli
