// ReduceLROnPlateau: the rate falls when a metric has stopped to improve.
#include <algorithm>
#include <limits>

#include "sconce/optim/schedulers.h"
#include "sconce/optim/state_fields.h"

namespace sconce::optim {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

ReduceLROnPlateau::ReduceLROnPlateau(Optimizer& optimizer, const Options& given) : LRScheduler(optimizer) {
  const Options options = Options{{"mode", "min"},           {"factor", 0.1}, {"patience", 10}, {"threshold", 1e-4},
                                  {"threshold_mode", "rel"}, {"cooldown", 0}, {"min_lr", 0},    {"eps", 1e-8}}
                              .with(given, "ReduceLROnPlateau");
  mode_ = options.at("mode").to_string_ref();
  threshold_mode_ = options.at("threshold_mode").to_string_ref();
  factor_ = options.number("factor");
  SCONCE_CHECK_AS(value, factor_ < 1, "Factor should be < 1.0.");
  SCONCE_CHECK_AS(value, mode_ == "min" || mode_ == "max", "mode {} is unknown!", mode_);
  SCONCE_CHECK_AS(value, threshold_mode_ == "rel" || threshold_mode_ == "abs", "threshold mode {} is unknown!",
                  threshold_mode_);
  threshold_ = options.number("threshold");
  eps_ = options.number("eps");
  patience_ = options.integer("patience");
  cooldown_ = options.integer("cooldown");
  const Value& least = options.at("min_lr");
  if (least.is_list()) {
    SCONCE_CHECK_AS(value, least.to_list().size() == group_count(), "expected {} min_lrs, got {}", group_count(),
                    least.to_list().size());
  }
  min_lrs_ = options.numbers("min_lr", group_count());
  best_ = mode_ == "min" ? kInfinity : -kInfinity;
  last_lr_ = current();
}

bool ReduceLROnPlateau::is_better(double metric) const {
  const bool relative = threshold_mode_ == "rel";
  if (mode_ == "min") return metric < (relative ? best_ * (1.0 - threshold_) : best_ - threshold_);
  return metric > (relative ? best_ * (threshold_ + 1.0) : best_ + threshold_);
}

void ReduceLROnPlateau::step(std::optional<double> metrics) {
  SCONCE_CHECK_AS(type, metrics, "ReduceLROnPlateau.step() missing 1 required positional argument: 'metrics'");
  ++last_epoch_;
  if (is_better(*metrics)) {
    best_ = *metrics;
    num_bad_epochs_ = 0;
  } else {
    ++num_bad_epochs_;
  }
  if (cooldown_counter_ > 0) {
    --cooldown_counter_;
    num_bad_epochs_ = 0;
  }
  if (num_bad_epochs_ > patience_) {
    reduce();
    cooldown_counter_ = cooldown_;
    num_bad_epochs_ = 0;
  }
  last_lr_ = current();
}

void ReduceLROnPlateau::reduce() {
  SCONCE_CHECK(
      min_lrs_.size() == group_count(),
      "The number of param groups in the `optimizer` ({}) differs from when `ReduceLROnPlateau` was initialized "
      "({}), usually due to a new param group being added to the optimizer.",
      group_count(), min_lrs_.size());
  for (size_t i = 0; i < group_count(); ++i) {
    const double before = optimizer_.lr(i), after = std::max(before * factor_, min_lrs_[i]);
    if (before - after > eps_) optimizer_.set_lr(after, i);
  }
}

void ReduceLROnPlateau::visit(StateFields& fields) {
  fields("factor", factor_);
  fields("min_lrs", min_lrs_);
  fields("patience", patience_);
  fields("cooldown", cooldown_);
  fields("eps", eps_);
  fields("last_epoch", last_epoch_);
  fields("_last_lr", last_lr_);
  fields("mode", mode_);
  fields("threshold", threshold_);
  fields("threshold_mode", threshold_mode_);
  fields("best", best_);
  fields("cooldown_counter", cooldown_counter_);
  fields("num_bad_epochs", num_bad_epochs_);
}

}  // namespace sconce::optim
