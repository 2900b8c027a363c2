// Cosine annealing, with and without warm restarts.
#include <cmath>
#include <numbers>

#include "sconce/optim/schedulers.h"
#include "sconce/optim/state_fields.h"

namespace sconce::optim {

using std::numbers::pi;

CosineAnnealingLR::CosineAnnealingLR(Optimizer& optimizer, int64_t T_max, double eta_min, int64_t last_epoch)
    : LRScheduler(optimizer, last_epoch), t_max_(T_max), eta_min_(eta_min) {
  SCONCE_CHECK_AS(zero_division, T_max != 0, "CosineAnnealingLR: T_max must not be 0");
  begin();
}

// From the rate before, so that other schedules may have a part in it. At the turning point there is nothing left to
// scale: there the cosine's first step up is added.
std::vector<double> CosineAnnealingLR::get_lr() {
  if (is_initial_) return current();
  if (step_count_ == 1 && last_epoch_ > 0) return closed_form();
  std::vector<double> rates = current();
  const double length = static_cast<double>(t_max_), at = static_cast<double>(last_epoch_);
  if ((last_epoch_ - 1 - t_max_) % (2 * t_max_) == 0) {
    for (size_t i = 0; i < rates.size(); ++i) {
      rates[i] += (base_lrs_[i] - eta_min_) * (1 - std::cos(pi / length)) / 2;
    }
    return rates;
  }
  for (double& rate : rates) {
    rate = (1 + std::cos(pi * at / length)) / (1 + std::cos(pi * (at - 1) / length)) * (rate - eta_min_) + eta_min_;
  }
  return rates;
}
std::vector<double> CosineAnnealingLR::closed_form() {
  std::vector<double> rates = base_lrs_;
  for (double& rate : rates) {
    const double angle = pi * static_cast<double>(last_epoch_) / static_cast<double>(t_max_);
    rate = eta_min_ + (rate - eta_min_) * (1 + std::cos(angle)) / 2;
  }
  return rates;
}
void CosineAnnealingLR::visit(StateFields& fields) {
  fields("T_max", t_max_);
  fields("eta_min", eta_min_);
  LRScheduler::visit(fields);
}

CosineAnnealingWarmRestarts::CosineAnnealingWarmRestarts(Optimizer& optimizer, int64_t T_0, int64_t T_mult,
                                                         double eta_min, int64_t last_epoch)
    : LRScheduler(optimizer, last_epoch),
      t_0_(T_0),
      t_i_(T_0),
      t_mult_(T_mult),
      eta_min_(eta_min),
      t_cur_(static_cast<double>(last_epoch)) {
  SCONCE_CHECK_AS(value, T_0 > 0, "Expected positive integer T_0, but got {}", T_0);
  SCONCE_CHECK_AS(value, T_mult >= 1, "Expected integer T_mult >= 1, but got {}", T_mult);
  begin();
}

std::vector<double> CosineAnnealingWarmRestarts::get_lr() {
  std::vector<double> rates = base_lrs_;
  for (double& rate : rates) {
    rate = eta_min_ + (rate - eta_min_) * (1 + std::cos(pi * t_cur_ / static_cast<double>(t_i_))) / 2;
  }
  return rates;
}

void CosineAnnealingWarmRestarts::step(std::optional<double> epoch) {
  if (!epoch && last_epoch_ < 0) epoch = 0;
  if (!epoch) {
    epoch = static_cast<double>(last_epoch_ + 1);
    t_cur_ += 1;
    if (t_cur_ >= static_cast<double>(t_i_)) {
      t_cur_ = std::fmod(t_cur_, static_cast<double>(t_i_));
      t_i_ *= t_mult_;
    }
  } else {
    SCONCE_CHECK_AS(value, *epoch >= 0, "Expected non-negative epoch, but got {}", float_repr(*epoch));
    const double first = static_cast<double>(t_0_), factor = static_cast<double>(t_mult_);
    if (*epoch < first) {
      t_i_ = t_0_;
      t_cur_ = *epoch;
    } else if (t_mult_ == 1) {
      t_cur_ = std::fmod(*epoch, first);
    } else {
      const double restarts = std::trunc(std::log(*epoch / first * (factor - 1) + 1) / std::log(factor));
      const double longer = std::pow(factor, restarts);
      t_cur_ = *epoch - first * (longer - 1) / (factor - 1);
      t_i_ = t_0_ * static_cast<int64_t>(longer);
    }
  }
  last_epoch_ = static_cast<int64_t>(std::floor(*epoch));
  set_rates(get_lr());
}

void CosineAnnealingWarmRestarts::visit(StateFields& fields) {
  fields("T_0", t_0_);
  fields("T_i", t_i_);
  fields("T_mult", t_mult_);
  fields("eta_min", eta_min_);
  fields("T_cur", t_cur_);
  LRScheduler::visit(fields);
}

}  // namespace sconce::optim
