#include "graphs/graph_plan.h"

#include "sconce/executor/plan_steps.h"
#include "sconce/runtime/bytecode/graph_code.h"

namespace sconce::cli {

void find_steps(const ir::Graph& graph, ir::Function& function, std::vector<Value> args, GraphRun& run) {
  const runtime::GraphCode code(graph, std::string(function.short_name()), &function.unit(),
                                function.self_type() != nullptr);
  const executor::PlanListing plan =
      executor::list_plan(args, [&](const runtime::RunOptions& options) { return code.run(args, options); });
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    run.steps.push_back({plan.steps[i].text, plan.steps[i].nest});
    for (const executor::Site& site : plan.steps[i].sites) {
      if (!site.code) continue;
      const runtime::NodeSite* at = code.site_of(*site.code, site.instruction);
      if (at) run.nodes[at->node].step = static_cast<int64_t>(i);
    }
  }
}

}  // namespace sconce::cli
