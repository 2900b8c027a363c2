#include "sconce/optim/scheduler.h"

#include "sconce/optim/state_fields.h"

namespace sconce::optim {

LRScheduler::LRScheduler(Optimizer& optimizer, int64_t last_epoch) : optimizer_(optimizer), last_epoch_(last_epoch) {
  size_t i = 0;
  for (ParamGroup& group : optimizer_.param_groups()) {
    Options& options = group.options;
    if (last_epoch == -1) {
      if (!options.has("initial_lr")) options.set("initial_lr", options.number("lr"));
    } else {
      SCONCE_CHECK_AS(key, options.has("initial_lr"),
                      "param 'initial_lr' is not specified in param_groups[{}] when resuming scheduler with last_epoch "
                      ">= 0. Load the optimizer's state dict before the scheduler is made",
                      i);
    }
    base_lrs_.push_back(options.number("initial_lr"));
    ++i;
  }
}

LRScheduler::~LRScheduler() = default;

void LRScheduler::begin() {
  step_count_ = 0;
  is_initial_ = true;
  step();
  is_initial_ = false;
}

void LRScheduler::step(std::optional<double> epoch) {
  ++step_count_;
  go_to(epoch);
}

void LRScheduler::go_to(std::optional<double> epoch) {
  last_epoch_ = epoch ? static_cast<int64_t>(*epoch) : last_epoch_ + 1;
  set_rates(epoch ? closed_form() : get_lr());
}

std::vector<double> LRScheduler::current() const {
  std::vector<double> rates;
  for (const ParamGroup& group : optimizer_.param_groups()) rates.push_back(group.options.number("lr"));
  return rates;
}

std::vector<double> LRScheduler::scaled(double factor) const {
  std::vector<double> rates = current();
  for (double& rate : rates) rate *= factor;
  return rates;
}

void LRScheduler::set_rates(const std::vector<double>& rates) {
  SCONCE_CHECK_AS(value, rates.size() == group_count(),
                  "{}: the optimizer has {} groups, but had {} when the schedule was made", name(), group_count(),
                  rates.size());
  for (size_t i = 0; i < rates.size(); ++i) optimizer_.set_lr(rates[i], i);
  last_lr_ = current();
}

void LRScheduler::visit(StateFields& fields) {
  fields("base_lrs", base_lrs_);
  fields("last_epoch", last_epoch_);
  fields("_step_count", step_count_);
  fields("_is_initial", is_initial_);
  bool inside = false;  // of get_lr, never while a caller asks
  fields("_get_lr_called_within_step", inside);
  fields("_last_lr", last_lr_);
}

Value LRScheduler::state_dict() const {
  StateFields fields = StateFields::writer();
  const_cast<LRScheduler*>(this)->visit(fields);  // which only reads for a writer
  return fields.dict();
}

void LRScheduler::load_state_dict(const Value& state) {
  StateFields fields = StateFields::reader(state);
  visit(fields);
}

}  // namespace sconce::optim
