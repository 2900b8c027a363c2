// CyclicLR and OneCycleLR.
#include <cmath>
#include <numbers>

#include "sconce/optim/schedulers.h"
#include "sconce/optim/state_fields.h"

namespace sconce::optim {

void MomentumSchedule::set_momentum(size_t group, double v) {
  Options& options = optimizer_.param_groups()[group].options;
  if (use_beta1_) {
    options.set("betas", std::tuple(v, options.pair("betas").second));
  } else {
    options.set("momentum", v);
  }
}

void MomentumSchedule::begin_momentum(const Options& options) {
  cycle_momentum_ = options.flag("cycle_momentum");
  if (!cycle_momentum_) return;
  use_beta1_ = optimizer_.defaults().has("betas");
  SCONCE_CHECK_AS(value, use_beta1_ || optimizer_.defaults().has("momentum"),
                  "optimizer must support momentum or beta1 with `cycle_momentum` option enabled");
  const std::vector<double> largest = options.numbers("max_momentum", group_count());
  const std::vector<double> smallest = options.numbers("base_momentum", group_count());
  if (last_epoch_ != -1) return;
  for (size_t i = 0; i < group_count(); ++i) {
    set_momentum(i, largest[i]);
    optimizer_.param_groups()[i].options.set("max_momentum", largest[i]);
    optimizer_.param_groups()[i].options.set("base_momentum", smallest[i]);
  }
}

void MomentumSchedule::visit(StateFields& fields) {
  fields("cycle_momentum", cycle_momentum_);
  if (cycle_momentum_) fields("use_beta1", use_beta1_);
  LRScheduler::visit(fields);
}

CyclicLR::CyclicLR(Optimizer& optimizer, const Options& options, Scale scale_fn)
    : CyclicLR(
          optimizer,
          [&] {
            Options all = Options{{"base_lr", {}},         {"max_lr", {}},           {"step_size_up", 2000},
                                  {"step_size_down", {}},  {"mode", "triangular"},   {"gamma", 1.0},
                                  {"scale_mode", "cycle"}, {"cycle_momentum", true}, {"base_momentum", 0.8},
                                  {"max_momentum", 0.9},   {"last_epoch", -1}}
                              .with(options, "CyclicLR");
            const std::vector<double> rates = all.numbers("base_lr", optimizer.param_groups().size());
            if (all.integer("last_epoch") == -1) {
              for (size_t i = 0; i < rates.size(); ++i) optimizer.set_lr(rates[i], i);
            }
            return all;
          }(),
          std::move(scale_fn), Complete{}) {}

CyclicLR::CyclicLR(Optimizer& optimizer, const Options& options, Scale scale_fn, Complete)
    : MomentumSchedule(optimizer, options.integer("last_epoch")), scale_fn_(std::move(scale_fn)) {
  max_lrs_ = options.numbers("max_lr", group_count());
  const double up = options.number("step_size_up");
  total_size_ = up + (options.at("step_size_down").is_none() ? up : options.number("step_size_down"));
  step_ratio_ = up / total_size_;
  mode_ = options.at("mode").to_string_ref();
  gamma_ = options.number("gamma");
  scale_mode_ = options.at("scale_mode").to_string_ref();
  if (!scale_fn_) {
    SCONCE_CHECK_AS(value, mode_ == "triangular" || mode_ == "triangular2" || mode_ == "exp_range",
                    "mode is invalid and scale_fn is None");
    scale_mode_ = mode_ == "exp_range" ? "iterations" : "cycle";
  }
  begin_momentum(options);
  if (cycle_momentum_) {
    base_momentums_ = options.numbers("base_momentum", group_count());
    max_momentums_ = options.numbers("max_momentum", group_count());
  }
  begin();
  base_lrs_ = options.numbers("base_lr", group_count());
}

double CyclicLR::scale(double x) const {
  if (scale_fn_) return scale_fn_(x);
  if (mode_ == "triangular") return 1;
  return mode_ == "triangular2" ? 1 / std::pow(2.0, x - 1) : std::pow(gamma_, x);
}

std::vector<double> CyclicLR::get_lr() {
  const double at = static_cast<double>(last_epoch_), cycle = std::floor(1 + at / total_size_);
  const double x = 1.0 + at / total_size_ - cycle;
  const double part = x <= step_ratio_ ? x / step_ratio_ : (x - 1) / (step_ratio_ - 1);
  const double factor = scale(scale_mode_ == "cycle" ? cycle : at);
  std::vector<double> rates;
  for (size_t i = 0; i < group_count(); ++i) {
    rates.push_back(base_lrs_[i] + (max_lrs_[i] - base_lrs_[i]) * part * factor);
    if (cycle_momentum_) {
      set_momentum(i, max_momentums_[i] - (max_momentums_[i] - base_momentums_[i]) * part * factor);
    }
  }
  return rates;
}

void CyclicLR::visit(StateFields& fields) {
  fields("max_lrs", max_lrs_);
  fields("total_size", total_size_);
  fields("step_ratio", step_ratio_);
  fields("mode", mode_);
  fields("gamma", gamma_);
  fields("scale_mode", scale_mode_);
  Value none;  // a function is not part of the state
  fields.value("_scale_fn_custom", none);
  if (cycle_momentum_) {
    fields("base_momentums", base_momentums_);
    fields("max_momentums", max_momentums_);
  }
  MomentumSchedule::visit(fields);
}

namespace {

int64_t positive(const Options& options, const char* name) {
  const Value& v = options.at(name);
  SCONCE_CHECK_AS(value, v.is_int() && v.to_int() > 0, "Expected positive integer {}, but got {}", name, v.repr());
  return v.to_int();
}

int64_t steps_of(const Options& options) {
  if (!options.at("total_steps").is_none()) return positive(options, "total_steps");
  SCONCE_CHECK_AS(value, !options.at("epochs").is_none() && !options.at("steps_per_epoch").is_none(),
                  "You must define either total_steps OR (epochs AND steps_per_epoch)");
  return positive(options, "epochs") * positive(options, "steps_per_epoch");
}

}  // namespace

OneCycleLR::OneCycleLR(Optimizer& optimizer, const Options& options)
    : OneCycleLR(
          optimizer,
          [&] {
            Options all = Options{{"max_lr", {}},           {"total_steps", {}},       {"epochs", {}},
                                  {"steps_per_epoch", {}},  {"pct_start", 0.3},        {"anneal_strategy", "cos"},
                                  {"cycle_momentum", true}, {"base_momentum", 0.85},   {"max_momentum", 0.95},
                                  {"div_factor", 25.0},     {"final_div_factor", 1e4}, {"three_phase", false},
                                  {"last_epoch", -1}}
                              .with(options, "OneCycleLR");
            steps_of(all);
            const std::vector<double> largest = all.numbers("max_lr", optimizer.param_groups().size());
            if (all.integer("last_epoch") == -1) {
              for (size_t i = 0; i < largest.size(); ++i) {
                Options& group = optimizer.param_groups()[i].options;
                const double first = largest[i] / all.number("div_factor");
                group.set("initial_lr", first);
                group.set("max_lr", largest[i]);
                group.set("min_lr", first / all.number("final_div_factor"));
              }
            }
            return all;
          }(),
          Complete{}) {}

OneCycleLR::OneCycleLR(Optimizer& optimizer, const Options& options, Complete)
    : MomentumSchedule(optimizer, options.integer("last_epoch")), total_steps_(steps_of(options)) {
  const double part = options.number("pct_start"), all = static_cast<double>(total_steps_);
  SCONCE_CHECK_AS(value, part >= 0 && part <= 1, "Expected float between 0 and 1 pct_start, but got {}",
                  options.at("pct_start").repr());
  anneal_ = options.at("anneal_strategy").to_string_ref();
  SCONCE_CHECK_AS(value, anneal_ == "cos" || anneal_ == "linear",
                  "anneal_strategy must be one of 'cos' or 'linear', instead got {}", anneal_);
  phases_.push_back({part * all - 1, "initial_lr", "max_lr", "max_momentum", "base_momentum"});
  if (options.flag("three_phase")) {
    phases_.push_back({2 * part * all - 2, "max_lr", "initial_lr", "base_momentum", "max_momentum"});
    phases_.push_back({all - 1, "initial_lr", "min_lr", "max_momentum", "max_momentum"});
  } else {
    phases_.push_back({all - 1, "max_lr", "min_lr", "base_momentum", "max_momentum"});
  }
  begin_momentum(options);
  begin();
}

double OneCycleLR::anneal(double start, double end, double part) const {
  if (anneal_ == "linear") return (end - start) * part + start;
  return end + (start - end) / 2.0 * (std::cos(std::numbers::pi * part) + 1);
}

std::vector<double> OneCycleLR::get_lr() {
  SCONCE_CHECK_AS(value, last_epoch_ <= total_steps_,
                  "Tried to step {} times. The specified number of total steps is {}", last_epoch_, total_steps_);
  const double at = static_cast<double>(last_epoch_);
  size_t i = 0;
  double begin = 0;
  while (i + 1 < phases_.size() && at > phases_[i].end_step) begin = phases_[i++].end_step;
  const Phase& phase = phases_[i];
  const double part = (at - begin) / (phase.end_step - begin);
  std::vector<double> rates;
  for (size_t g = 0; g < group_count(); ++g) {
    const Options& group = optimizer_.param_groups()[g].options;
    rates.push_back(anneal(group.number(phase.start_lr), group.number(phase.end_lr), part));
    if (cycle_momentum_) {
      set_momentum(g, anneal(group.number(phase.start_momentum), group.number(phase.end_momentum), part));
    }
  }
  return rates;
}

Value OneCycleLR::to_value(const std::vector<Phase>& phases) {
  Ref<List> list = make_ref<List>(any_type());
  for (const Phase& phase : phases) {
    Ref<Dict> dict = make_ref<Dict>(any_type(), any_type());
    dict->set("end_step", phase.end_step);
    dict->set("start_lr", phase.start_lr);
    dict->set("end_lr", phase.end_lr);
    dict->set("start_momentum", phase.start_momentum);
    dict->set("end_momentum", phase.end_momentum);
    list->append(dict);
  }
  return list;
}

std::vector<OneCycleLR::Phase> OneCycleLR::from_value(const Value& v) {
  std::vector<Phase> phases;
  for (const Value& item : v.to_list().values()) {
    StateFields fields = StateFields::reader(item);
    Phase& phase = phases.emplace_back();
    fields("end_step", phase.end_step);
    fields("start_lr", phase.start_lr);
    fields("end_lr", phase.end_lr);
    fields("start_momentum", phase.start_momentum);
    fields("end_momentum", phase.end_momentum);
  }
  return phases;
}

void OneCycleLR::visit(StateFields& fields) {
  fields("total_steps", total_steps_);
  Value packed = to_value(phases_);
  fields.value("_schedule_phases", packed);
  phases_ = from_value(packed);
  fields("_anneal_func_type", anneal_);
  MomentumSchedule::visit(fields);
}

}  // namespace sconce::optim
