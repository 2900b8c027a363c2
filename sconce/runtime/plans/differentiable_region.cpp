#include "sconce/runtime/plans/differentiable_region.h"

#include <algorithm>

#include "sconce/autograd/anomaly.h"
#include "sconce/runtime/bytecode/compiler.h"
#include "sconce/runtime/execute.h"
#include "sconce/runtime/plans/region_plan.h"
#include "sconce/tensor/grad_mode.h"

namespace sconce::runtime {
namespace {

constexpr size_t kExactPlans = 4;  // plans for certain sizes
constexpr size_t kMostPlans = 16;

constinit std::atomic<bool> enabled{true};

bool records(const std::vector<Value>& args) {
  return grad_enabled() && std::any_of(args.begin(), args.end(),
                                       [](const Value& v) { return v.is_tensor() && v.to_tensor().requires_grad(); });
}

std::vector<Value> results_of(const Code& code, std::span<Value> args, const RunOptions& options) {
  Value result = run_code(code, args, options);
  if (code.results == 1) return {std::move(result)};
  return std::move(result.to_tuple().items);
}

}  // namespace

void set_autodiff_enabled(bool on) noexcept { enabled.store(on); }

bool runs_with_regions() noexcept {
  return grad_enabled() && enabled.load(std::memory_order_relaxed) && !autograd::has_saved_tensor_hooks() &&
         !autograd::AnomalyMode::enabled();
}

DifferentiableRegion::DifferentiableRegion(std::shared_ptr<ir::Graph> graph, std::string name)
    : graph_(std::move(graph)), name_(std::move(name)), plain_(generate(*graph_, name_, nullptr, false)) {}
DifferentiableRegion::~DifferentiableRegion() = default;

std::shared_ptr<RegionPlan> DifferentiableRegion::find_plan(const std::vector<Value>& args) {
  const std::lock_guard lock(mutex_);
  for (const std::shared_ptr<RegionPlan>& plan : plans_) {
    if (plan->takes(args)) return plan;
  }
  if (plans_.size() == kMostPlans) return nullptr;
  std::vector<ArgumentKind> kinds;
  for (const Value& v : args) kinds.push_back(kind_of(v, plans_.size() < kExactPlans));
  plans_.push_back(std::make_shared<RegionPlan>(*graph_, std::move(kinds), name_));
  return plans_.back();
}

std::vector<Value> DifferentiableRegion::run(std::vector<Value> args, const RunOptions& options) {
  if (!records(args)) return results_of(*plain_, args, options);
  const std::shared_ptr<RegionPlan> plan = find_plan(args);
  if (!plan || !plan->is_possible()) return results_of(*plain_, args, options);
  const Ref<ScriptNode> node = make_ref<ScriptNode>(plan, args);
  std::vector<Tensor> tensors;  // results are compared with them
  for (const Value& v : args) {
    if (v.is_tensor()) tensors.push_back(v.to_tensor());
  }
  std::vector<Value> again = args;
  std::vector<Value> results;
  try {
    const ModeGuard below({}, kGradKeys);
    results = results_of(plan->forward(), args, options);
  } catch (const Error&) {
    // The region as it stands raises the error, in the words of its own operators.
    return results_of(*plain_, again, options);
  }
  node->set_results(results, tensors);
  return results;
}

}  // namespace sconce::runtime
