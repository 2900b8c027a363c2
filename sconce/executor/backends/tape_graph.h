// Nodes of a tape as graphs: what a backend is shown of them.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "sconce/executor/tape.h"
#include "sconce/ir/graph.h"
#include "sconce/lowering/dialect.h"

namespace sconce::executor {

// A call of the tape in a dialect: a straight graph (straight_graph.h).
struct LoweredNode {
  std::vector<ValueId> inputs;             // of the graph: the tensors of the node, each once
  std::shared_ptr<const ir::Graph> graph;  // its outputs are the node's results; null: there is no such graph
  bool is_whole = false;                   // every operator in it is of the dialect
};

class NodeLowering {
 public:
  explicit NodeLowering(const lowering::Dialect& dialect) : dialect_(dialect) {}
  // Of a node without writes whose results are all tensors. Equal calls share their graph.
  LoweredNode lower(const Tape& tape, NodeId n);

 private:
  const lowering::Dialect& dialect_;
  std::unordered_map<std::string, LoweredNode> known_;  // by operator, arguments and geometry
};

}  // namespace sconce::executor
