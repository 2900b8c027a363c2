// Schedules by name, for C and for recorded cases.
#include "sconce/optim/schedulers.h"

namespace sconce::optim {
namespace {

// The arguments of a schedule: defaults, overridden by the given ones. None if an argument has no default: then
// it is required.
Options arguments(std::string_view name, Options defaults, const Options& given) {
  defaults.set("last_epoch", -1);
  Options all = defaults.with(given, name);
  for (const auto& [argument, v] : all.items()) {
    SCONCE_CHECK_AS(type, !v.is_none(), "{}.__init__() missing 1 required positional argument: '{}'", name, argument);
  }
  return all;
}

std::vector<int64_t> integers(const Value& v) {
  const std::vector<Value> items = v.is_tuple() ? v.to_tuple().items : v.to_list().values();
  std::vector<int64_t> result;
  for (const Value& item : items) result.push_back(item.to_int());
  return result;
}

}  // namespace

std::unique_ptr<LRScheduler> make_scheduler(std::string_view name, Optimizer& optimizer, const Options& given) {
  if (name == "OneCycleLR") return std::make_unique<OneCycleLR>(optimizer, given);
  if (name == "CyclicLR") return std::make_unique<CyclicLR>(optimizer, given);
  if (name == "ReduceLROnPlateau") return std::make_unique<ReduceLROnPlateau>(optimizer, given);
  if (name == "StepLR") {
    const Options o = arguments(name, {{"step_size", {}}, {"gamma", 0.1}}, given);
    return std::make_unique<StepLR>(optimizer, o.integer("step_size"), o.number("gamma"), o.integer("last_epoch"));
  }
  if (name == "MultiStepLR") {
    const Options o = arguments(name, {{"milestones", {}}, {"gamma", 0.1}}, given);
    return std::make_unique<MultiStepLR>(optimizer, integers(o.at("milestones")), o.number("gamma"),
                                         o.integer("last_epoch"));
  }
  if (name == "ConstantLR") {
    const Options o = arguments(name, {{"factor", 1.0 / 3}, {"total_iters", 5}}, given);
    return std::make_unique<ConstantLR>(optimizer, o.number("factor"), o.integer("total_iters"),
                                        o.integer("last_epoch"));
  }
  if (name == "LinearLR") {
    const Options o = arguments(name, {{"start_factor", 1.0 / 3}, {"end_factor", 1.0}, {"total_iters", 5}}, given);
    return std::make_unique<LinearLR>(optimizer, o.number("start_factor"), o.number("end_factor"),
                                      o.integer("total_iters"), o.integer("last_epoch"));
  }
  if (name == "ExponentialLR") {
    const Options o = arguments(name, {{"gamma", {}}}, given);
    return std::make_unique<ExponentialLR>(optimizer, o.number("gamma"), o.integer("last_epoch"));
  }
  if (name == "PolynomialLR") {
    const Options o = arguments(name, {{"total_iters", 5}, {"power", 1.0}}, given);
    return std::make_unique<PolynomialLR>(optimizer, o.integer("total_iters"), o.number("power"),
                                          o.integer("last_epoch"));
  }
  if (name == "CosineAnnealingLR") {
    const Options o = arguments(name, {{"T_max", {}}, {"eta_min", 0.0}}, given);
    return std::make_unique<CosineAnnealingLR>(optimizer, o.integer("T_max"), o.number("eta_min"),
                                               o.integer("last_epoch"));
  }
  if (name == "CosineAnnealingWarmRestarts") {
    const Options o = arguments(name, {{"T_0", {}}, {"T_mult", 1}, {"eta_min", 0.0}}, given);
    return std::make_unique<CosineAnnealingWarmRestarts>(optimizer, o.integer("T_0"), o.integer("T_mult"),
                                                         o.number("eta_min"), o.integer("last_epoch"));
  }
  fail_as(ErrorKind::value, "there is no schedule '{}' that is made by name", name);
}

}  // namespace sconce::optim
