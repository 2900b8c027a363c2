// Subgraphs for a backend: which nodes of a tape it takes, and the tape with them as calls of what it made of them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sconce/executor/graph_backend.h"
#include "sconce/executor/tape.h"

namespace sconce::executor {

// A subgraph that a backend has compiled, as the node of a tape holds it.
struct BackendCall {
  std::string backend;
  std::shared_ptr<const Callable> callable;
  std::string text;                  // its nodes, a line each
  std::vector<std::string> results;  // the nodes that gave them, for messages
};

// Offers the nodes of the tape (functional, nothing dead in it) to the backend. Each subgraph that it compiles becomes
// one node, whose `taken` says by what. `read` gets the blocks of constants that it was shown.
void take_parts(Tape& tape, GraphBackend& backend, std::vector<BlockId>& read);

}  // namespace sconce::executor
