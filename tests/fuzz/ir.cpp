#include <cstdlib>

#include "sconce/ir/graph_parser.h"
#include "sconce/ir/verifier.h"
#include "tests/fuzz/targets.h"

namespace sconce::fuzz {

void ir(std::string_view bytes) {
  std::shared_ptr<sconce::ir::Graph> graph;
  try {
    graph = sconce::ir::parse_graph(bytes);
  } catch (const Error& e) {
    if (e.kind() == ErrorKind::internal) std::abort();
    return;
  }
  // What was read is printed, and what was printed is read as the same graph.
  const std::string printed = graph->to_string();
  if (sconce::ir::parse_graph(printed)->to_string() != printed) std::abort();
  try {
    sconce::ir::verify(*graph);
  } catch (const Error&) {
    // well written, but not a program
  }
}

}  // namespace sconce::fuzz
