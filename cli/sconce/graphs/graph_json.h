// Graphs as JSON: what `sconce ir --json` prints and the page of --html shows.
//
//   {"file": "model.pt",
//    "graphs": [{"name": "__torch__.Net.forward",
//                "inputs": [0, 1], "outputs": [7],                        values, by number
//                "values": [{"name": "x", "type": "Tensor", "seen": "2×4 float32"}],
//                "nodes": [{"kind": "aten::linear", "inputs": [1, 2, 3], "outputs": [4], "blocks": [], "scope": 0,
//                           "attributes": "[...]", "value": "1" (of a constant), "name": "weight" (of a GetAttr),
//                           "schema": 0, "at": place, "written": place, "calls": 1, "ns": 1200, "step": 2}],
//                "blocks": [{"owner": null, "inputs": [], "outputs": [], "nodes": [0, 1]}],      the graph's own is
//                first "scopes": [{"function": "__torch__.Linear.forward", "object": "fc", "call": place, "outer":
//                null}], "edges": [[from, to, value]],                            between nodes
//                "ns": 5000, "runs": 5,                                   of the runs: medians, or ("means": true) means
//                "steps": [{"text": "loops ...", "nest": "nest [2, 4] ..."}]}],     of their plan
//    "schemas": [{"text": "aten::linear(...)", "arguments": ["input", "weight", "bias"]}],
//    "sources": [{"name": "model.py", "line": 1, "text": "..."}]}
//
// A place is {"source": 0, "line": 3, "begin": 40, "end": 52, "text": "model.py:3:8"}; begin and end count UTF-16 units
// of the source's text. "at" is where people wrote it, "written" the archive's own code where that differs. What is not
// known is left out.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "sconce/ir/graph.h"

namespace sconce::cli {

// What was seen when a graph ran.
struct GraphRun {
  struct Node {
    uint64_t calls = 0;
    uint64_t ns = 0;
    int64_t step = -1;  // of the plan; -1: none
  };
  // A step of the plan that the run would get.
  struct Step {
    std::string text;
    std::string nest;  // the loops that it is, or that follow its call; may be empty
  };
  std::vector<Step> steps;
  std::unordered_map<const ir::Node*, Node> nodes;
  std::unordered_map<const ir::Value*, std::string> values;  // "1×64×56×56 float32"; the last, of several
  uint64_t ns = 0;                                           // of the whole run, by itself
  size_t runs = 1;                                           // that times are the medians of
  bool means = false;                                        // or the means
};
// Calls and values of the last run, times that are medians. At least one run.
GraphRun median_run(std::vector<GraphRun> runs);
// The same with means, for clocks whose steps are longer than most nodes, as those of browsers.
GraphRun mean_run(std::vector<GraphRun> runs);

class GraphDocument {
 public:
  explicit GraphDocument(std::string file);
  ~GraphDocument();
  // `run` may be null.
  void add(const std::string& name, const ir::Graph& graph, const GraphRun* run);
  nlohmann::ordered_json finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sconce::cli
