// GraphCode: compiles a graph as it stands, without passes, for tools that show the values at its nodes:
//
//   GraphCode code(*graph, "forward", &unit, true);
//   code.run(args, options);                         // options.observer asks:
//   code.site_of(code_that_runs, instruction)->node
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "sconce/runtime/interpreter.h"

namespace sconce::runtime {

// The instructions of one node.
struct NodeSite {
  const ir::Node* node = nullptr;
  size_t first = 0;                            // instruction
  std::vector<std::optional<size_t>> results;  // the register of each output, when it has one behind the node
};
// By code (the graph's, those of the graphs that it forks), in the order of their instructions.
using NodeSites = std::unordered_map<const Code*, std::vector<NodeSite>>;

class SCONCE_API GraphCode {
 public:
  // The graph must outlive this. A method's first argument is its object. Throws Error for graphs that cannot run.
  GraphCode(const ir::Graph& graph, std::string name, ir::CompilationUnit* unit, bool is_method);
  ~GraphCode();  // waits for its forked tasks
  GraphCode(const GraphCode&) = delete;

  // One Value per input of the graph; moved from. Throws ScriptError.
  Value run(std::span<Value> args, const RunOptions& options = {}) const;
  // Null for code of functions that the graph calls.
  const NodeSite* site_of(const Code& code, size_t instruction) const;

 private:
  NodeSites sites_;
  std::shared_ptr<Code> code_;
};

}  // namespace sconce::runtime
