// Pass manager: passes are functions from graph to "did it change". passes.def lists them in pipeline order: one line
// declares a pass and names it for dumps, timing, switching off and bisecting. Each has a file of its name, and a
// golden test beside it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sconce/ir/graph.h"

namespace sconce::passes {

using Pass = bool (*)(ir::Graph& graph);

#define SCONCE_PASS(name, in_pipeline, summary) SCONCE_API bool name(ir::Graph& graph);
#include "sconce/passes/passes.def"
#undef SCONCE_PASS

struct PassInfo {
  const char* name;
  bool in_pipeline;  // part of optimise(); the others are asked for by name
  const char* summary;
  Pass run;
};
SCONCE_API const std::vector<PassInfo>& all_passes();
SCONCE_API const PassInfo* find_pass(std::string_view name);

// The actions of the runner around each pass. From the environment: SCONCE_PASSES="-peephole,+refine_types" switches
// passes off and others on ("-all" switches all off), SCONCE_PASS_LIMIT=N runs the first N pass executions only
// (bisecting), SCONCE_LOGS=passes prints each change (base/logs.h).
struct PipelineOptions {
  std::vector<std::string> disabled;
  std::vector<std::string> enabled;  // beside those of the pipeline, in the order of passes.def
  int64_t limit = -1;
  bool verify = false;  // after every pass
};
struct PassTime {
  std::string name;
  double seconds;
  bool changed;
};
// Runs the pipeline. `times`, when given, gets a row per pass.
SCONCE_API void optimise(ir::Graph& graph, const PipelineOptions& options = {}, std::vector<PassTime>* times = nullptr);

}  // namespace sconce::passes
