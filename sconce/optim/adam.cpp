// Adam and AdamW: averages of gradients and of their squares.
#include "sconce/generated/creation.h"
#include "sconce/generated/optimizer.h"
#include "sconce/optim/optimizers.h"
#include "sconce/optim/step_count.h"

namespace sconce::optim {
namespace {

Options defaults_of(bool decoupled) {
  return {{"lr", 1e-3},
          {"betas", std::tuple(0.9, 0.999)},
          {"eps", 1e-8},
          {"weight_decay", decoupled ? Value(1e-2) : Value(0)},
          {"amsgrad", false},
          {"maximize", false},
          {"foreach", {}},
          {"capturable", false},
          {"differentiable", false},
          {"fused", {}},
          {"decoupled_weight_decay", decoupled}};
}

}  // namespace

Adam::Adam(ParamGroups params, const Options& options)
    : Adam(std::move(params), defaults_of(false).with(options, "Adam"), Complete{}) {}

Adam::Adam(ParamGroups params, Options defaults, Complete) : Optimizer(std::move(params), std::move(defaults)) {
  check_adam_options();
}

AdamW::AdamW(ParamGroups params, const Options& options)
    : Adam(
          std::move(params),
          [&] {
            SCONCE_CHECK_AS(type, !options.has("decoupled_weight_decay"),
                            "AdamW.__init__() got an unexpected keyword argument 'decoupled_weight_decay'");
            return defaults_of(true).with(options, "AdamW");
          }(),
          Complete{}) {}

void Adam::update(const ParamGroup& group) {
  const Options& o = group.options;
  const bool amsgrad = o.flag("amsgrad");
  const Batch b = batch(group);
  if (b.empty()) return;
  for (size_t i = 0; i < b.params.size(); ++i) {
    begin_step(*b.states[i], b.params[i],
               amsgrad ? Names{"exp_avg", "exp_avg_sq", "max_exp_avg_sq"} : Names{"exp_avg", "exp_avg_sq"});
  }
  const auto [beta1, beta2] = o.pair("betas");
  const auto step = [&](auto& fused) {
    fused(b.params, b.grads, b.all("exp_avg"), b.all("exp_avg_sq"),
          amsgrad ? b.all("max_exp_avg_sq") : std::vector<Tensor>(), b.all("step"), o.number("lr"), beta1, beta2,
          o.number("weight_decay"), o.number("eps"), amsgrad, o.flag("maximize"), Tensor(), Tensor());
  };
  using Fused = void(TensorList, TensorList, TensorList, TensorList, TensorList, TensorList, double, double, double,
                     double, double, bool, bool, const Tensor&, const Tensor&);
  step(static_cast<Fused&>(o.flag("decoupled_weight_decay") ? static_cast<Fused&>(_fused_adamw_)
                                                            : static_cast<Fused&>(_fused_adam_)));
}

void AdamW::loaded() {
  for (ParamGroup& group : param_groups()) group.options.set("decoupled_weight_decay", true);
}

}  // namespace sconce::optim
