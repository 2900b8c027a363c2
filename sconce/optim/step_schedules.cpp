// Schedules that multiply the rate: StepLR, MultiStepLR, ConstantLR, LinearLR, ExponentialLR, PolynomialLR,
// LambdaLR, MultiplicativeLR.
#include <algorithm>
#include <cmath>

#include "sconce/optim/schedulers.h"
#include "sconce/optim/state_fields.h"

namespace sconce::optim {
namespace {

std::vector<double> times(const std::vector<double>& rates, double factor) {
  std::vector<double> result = rates;
  for (double& rate : result) rate *= factor;
  return result;
}

double as_double(int64_t x) { return static_cast<double>(x); }

}  // namespace

StepLR::StepLR(Optimizer& optimizer, int64_t step_size, double gamma, int64_t last_epoch)
    : LRScheduler(optimizer, last_epoch), step_size_(step_size), gamma_(gamma) {
  SCONCE_CHECK_AS(zero_division, step_size != 0, "StepLR: step_size must not be 0");
  begin();
}
std::vector<double> StepLR::get_lr() {
  return last_epoch_ == 0 || last_epoch_ % step_size_ != 0 ? current() : scaled(gamma_);
}
std::vector<double> StepLR::closed_form() {
  return times(base_lrs_, std::pow(gamma_, as_double(last_epoch_ / step_size_)));
}
void StepLR::visit(StateFields& fields) {
  fields("step_size", step_size_);
  fields("gamma", gamma_);
  LRScheduler::visit(fields);
}

MultiStepLR::MultiStepLR(Optimizer& optimizer, std::vector<int64_t> milestones, double gamma, int64_t last_epoch)
    : LRScheduler(optimizer, last_epoch), milestones_(std::move(milestones)), gamma_(gamma) {
  std::sort(milestones_.begin(), milestones_.end());
  begin();
}
std::vector<double> MultiStepLR::get_lr() {
  const auto count = std::count(milestones_.begin(), milestones_.end(), last_epoch_);
  return count == 0 ? current() : scaled(std::pow(gamma_, as_double(count)));
}
std::vector<double> MultiStepLR::closed_form() {
  const auto passed = std::upper_bound(milestones_.begin(), milestones_.end(), last_epoch_) - milestones_.begin();
  return times(base_lrs_, std::pow(gamma_, as_double(passed)));
}
void MultiStepLR::visit(StateFields& fields) {
  // A dict from milestones to how often they occur.
  Ref<Dict> counts = make_ref<Dict>(any_type(), any_type());
  for (const int64_t at : milestones_) {
    counts->set(at, static_cast<int64_t>(std::count(milestones_.begin(), milestones_.end(), at)));
  }
  Value packed(counts);
  fields.value("milestones", packed);
  if (!fields.writes()) {
    milestones_.clear();
    packed.to_dict().for_each([&](const Value& at, const Value& count) {
      milestones_.insert(milestones_.end(), static_cast<size_t>(count.to_int()), at.to_int());
    });
    std::sort(milestones_.begin(), milestones_.end());
  }
  fields("gamma", gamma_);
  LRScheduler::visit(fields);
}

ConstantLR::ConstantLR(Optimizer& optimizer, double factor, int64_t total_iters, int64_t last_epoch)
    : LRScheduler(optimizer, last_epoch), factor_(factor), total_iters_(total_iters) {
  SCONCE_CHECK_AS(value, factor >= 0 && factor <= 1, "Constant multiplicative factor expected to be between 0 and 1.");
  begin();
}
std::vector<double> ConstantLR::get_lr() {
  if (last_epoch_ == 0) return scaled(factor_);
  return last_epoch_ != total_iters_ ? current() : scaled(1.0 / factor_);
}
std::vector<double> ConstantLR::closed_form() {
  return times(base_lrs_, factor_ + (last_epoch_ >= total_iters_ ? 1 - factor_ : 0));
}
void ConstantLR::visit(StateFields& fields) {
  fields("factor", factor_);
  fields("total_iters", total_iters_);
  LRScheduler::visit(fields);
}

LinearLR::LinearLR(Optimizer& optimizer, double start_factor, double end_factor, int64_t total_iters,
                   int64_t last_epoch)
    : LRScheduler(optimizer, last_epoch),
      start_factor_(start_factor),
      end_factor_(end_factor),
      total_iters_(total_iters) {
  SCONCE_CHECK_AS(value, start_factor > 0 && start_factor <= 1,
                  "Starting multiplicative factor expected to be greater than 0 and less or equal to 1.");
  SCONCE_CHECK_AS(value, end_factor >= 0 && end_factor <= 1,
                  "Ending multiplicative factor expected to be between 0 and 1.");
  begin();
}
std::vector<double> LinearLR::get_lr() {
  if (last_epoch_ == 0) return scaled(start_factor_);
  if (is_initial_ || last_epoch_ > total_iters_) return current();
  const double gap = end_factor_ - start_factor_;
  return scaled(1.0 + gap / (as_double(total_iters_) * start_factor_ + as_double(last_epoch_ - 1) * gap));
}
std::vector<double> LinearLR::closed_form() {
  const double passed = as_double(std::min(total_iters_, last_epoch_));
  return times(base_lrs_, start_factor_ + (end_factor_ - start_factor_) * passed / as_double(total_iters_));
}
void LinearLR::visit(StateFields& fields) {
  fields("start_factor", start_factor_);
  fields("end_factor", end_factor_);
  fields("total_iters", total_iters_);
  LRScheduler::visit(fields);
}

ExponentialLR::ExponentialLR(Optimizer& optimizer, double gamma, int64_t last_epoch)
    : LRScheduler(optimizer, last_epoch), gamma_(gamma) {
  begin();
}
std::vector<double> ExponentialLR::get_lr() { return is_initial_ ? current() : scaled(gamma_); }
std::vector<double> ExponentialLR::closed_form() { return times(base_lrs_, std::pow(gamma_, as_double(last_epoch_))); }
void ExponentialLR::visit(StateFields& fields) {
  fields("gamma", gamma_);
  LRScheduler::visit(fields);
}

PolynomialLR::PolynomialLR(Optimizer& optimizer, int64_t total_iters, double power, int64_t last_epoch)
    : LRScheduler(optimizer, last_epoch), total_iters_(total_iters), power_(power) {
  begin();
}
std::vector<double> PolynomialLR::get_lr() {
  if (is_initial_ || last_epoch_ > total_iters_) return current();
  const double all = as_double(total_iters_), passed = as_double(last_epoch_);
  return scaled(std::pow((1.0 - passed / all) / (1.0 - (passed - 1) / all), power_));
}
std::vector<double> PolynomialLR::closed_form() {
  const double passed = as_double(std::min(total_iters_, last_epoch_));
  return times(base_lrs_, std::pow(1.0 - passed / as_double(total_iters_), power_));
}
void PolynomialLR::visit(StateFields& fields) {
  fields("total_iters", total_iters_);
  fields("power", power_);
  LRScheduler::visit(fields);
}

LambdaLR::LambdaLR(Optimizer& optimizer, const Lambda& lr_lambda, int64_t last_epoch)
    : LambdaLR(optimizer, std::vector<Lambda>(optimizer.param_groups().size(), lr_lambda), last_epoch) {}
LambdaLR::LambdaLR(Optimizer& optimizer, std::vector<Lambda> lr_lambdas, int64_t last_epoch)
    : LRScheduler(optimizer, last_epoch), lambdas_(std::move(lr_lambdas)) {
  SCONCE_CHECK_AS(value, lambdas_.size() == group_count(), "Expected {} lr_lambdas, but got {}", group_count(),
                  lambdas_.size());
  begin();
}
std::vector<double> LambdaLR::get_lr() {
  std::vector<double> rates;
  for (size_t i = 0; i < base_lrs_.size(); ++i) rates.push_back(base_lrs_[i] * lambdas_[i](last_epoch_));
  return rates;
}

MultiplicativeLR::MultiplicativeLR(Optimizer& optimizer, Lambda lr_lambda, int64_t last_epoch)
    : LRScheduler(optimizer, last_epoch), lambda_(std::move(lr_lambda)) {
  begin();
}
std::vector<double> MultiplicativeLR::get_lr() { return is_initial_ ? current() : scaled(lambda_(last_epoch_)); }

}  // namespace sconce::optim
