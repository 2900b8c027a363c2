// Differentiable regions: prim::DifferentiableGraph runs a region of a graph with a backward of its own.
//
// Note [Regions]
// A function runs as plain code until one of its operators meets a tensor that requires grad (Code::met_grad). From
// then on, while gradients are recorded, it runs as code with regions. A region that gets a tensor that requires grad
// runs its f (lowering/autodiff.h) without recording, and one node stands for all of it in the backward graph. Plans (f
// and df) are made for the dtypes, ranks and, for the first few, sizes of the arguments, so that decisions on these are
// taken once. A region that cannot be planned runs as it is, recorded operator by operator; so does everything in
// anomaly mode, which is to name the operator's line, and while there are hooks for saved tensors: checkpoints want to
// see the same ones in every run.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "sconce/ir/graph.h"
#include "sconce/runtime/bytecode/code.h"
#include "sconce/runtime/interpreter.h"

namespace sconce::runtime {

class RegionPlan;

class DifferentiableRegion final : public Region {
 public:
  // `name` of the function that it is a part of.
  DifferentiableRegion(std::shared_ptr<ir::Graph> graph, std::string name);
  ~DifferentiableRegion() override;
  DifferentiableRegion(const DifferentiableRegion&) = delete;

  std::vector<Value> run(std::vector<Value> args, const RunOptions& options) override;

 private:
  std::shared_ptr<RegionPlan> find_plan(const std::vector<Value>& args);

  const std::shared_ptr<ir::Graph> graph_;
  const std::string name_;
  std::shared_ptr<Code> plain_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<RegionPlan>> plans_;
};

// Whether functions run with regions at all (on when a process starts). For comparisons; not for use while scripts run.
SCONCE_API void set_autodiff_enabled(bool enabled) noexcept;
// Whether functions are to run with regions now, in this thread.
bool runs_with_regions() noexcept;

}  // namespace sconce::runtime
