// Averages: the run of a graph that stands for several.
#include <algorithm>

#include "graphs/graph_json.h"
#include "profiles/instruction_timer.h"

namespace sconce::cli {

GraphRun median_run(std::vector<GraphRun> runs) {
  GraphRun out = std::move(runs.back());
  std::vector<uint64_t> rest(runs.size());  // beside the nodes
  const auto ns_in = [&](size_t run, const ir::Node* node) -> uint64_t {
    const GraphRun& of = run + 1 == runs.size() ? out : runs[run];
    const auto at = of.nodes.find(node);
    return at == of.nodes.end() ? 0 : at->second.ns;
  };
  for (size_t run = 0; run < runs.size(); ++run) {
    rest[run] = run + 1 == runs.size() ? out.ns : runs[run].ns;
    for (const auto& [node, seen] : out.nodes) rest[run] -= std::min(rest[run], ns_in(run, node));
  }
  std::unordered_map<const ir::Node*, uint64_t> medians;
  uint64_t total = median_ns(rest, rest.size());
  for (const auto& [node, seen] : out.nodes) {
    std::vector<uint64_t> times;
    times.reserve(runs.size());
    for (size_t run = 0; run < runs.size(); ++run) times.push_back(ns_in(run, node));
    total += medians[node] = median_ns(std::move(times), runs.size());
  }
  for (auto& [node, seen] : out.nodes) seen.ns = medians[node];
  out.ns = total;
  out.runs = runs.size();
  return out;
}

GraphRun mean_run(std::vector<GraphRun> runs) {
  GraphRun out = std::move(runs.back());
  const size_t count = runs.size();
  runs.pop_back();
  for (const GraphRun& run : runs) {
    out.ns += run.ns;
    for (auto& [node, seen] : out.nodes) {
      if (const auto at = run.nodes.find(node); at != run.nodes.end()) seen.ns += at->second.ns;
    }
  }
  out.ns /= count;
  for (auto& [node, seen] : out.nodes) seen.ns /= count;
  out.runs = count;
  out.means = true;
  return out;
}

}  // namespace sconce::cli
