// Adamax, NAdam, RAdam: averages of gradients and of their sizes, like Adam.
#include <cmath>

#include "sconce/generated/creation.h"
#include "sconce/generated/optimizer.h"
#include "sconce/optim/optimizers.h"
#include "sconce/optim/step_count.h"

namespace sconce::optim {

Adamax::Adamax(ParamGroups params, const Options& options)
    : Optimizer(std::move(params), Options{{"lr", 2e-3},
                                           {"betas", std::tuple(0.9, 0.999)},
                                           {"eps", 1e-8},
                                           {"weight_decay", 0},
                                           {"foreach", {}},
                                           {"maximize", false},
                                           {"differentiable", false},
                                           {"capturable", false}}
                                       .with(options, "Adamax")) {
  check_adam_options();
}

void Adamax::update(const ParamGroup& group) {
  const Options& o = group.options;
  const Batch b = batch(group);
  for (size_t i = 0; i < b.params.size(); ++i) begin_step(*b.states[i], b.params[i], {"exp_avg", "exp_inf"});
  const auto [beta1, beta2] = o.pair("betas");
  fused_adamax_(b.params, b.grads, b.all("exp_avg"), b.all("exp_inf"), b.all("step"), o.number("lr"), beta1, beta2,
                o.number("eps"), o.number("weight_decay"), o.flag("maximize"));
}

NAdam::NAdam(ParamGroups params, const Options& options)
    : Optimizer(std::move(params), Options{{"lr", 2e-3},
                                           {"betas", std::tuple(0.9, 0.999)},
                                           {"eps", 1e-8},
                                           {"weight_decay", 0},
                                           {"momentum_decay", 4e-3},
                                           {"decoupled_weight_decay", false},
                                           {"maximize", false},
                                           {"foreach", {}},
                                           {"capturable", false},
                                           {"differentiable", false}}
                                       .with(options, "NAdam")) {
  check_adam_options();
  check_not_negative("momentum_decay", "Invalid momentum_decay value");
}

void NAdam::update(const ParamGroup& group) {
  const Options& o = group.options;
  const Batch b = batch(group);
  const auto [beta1, beta2] = o.pair("betas");
  const double decay = o.number("momentum_decay");
  for (size_t i = 0; i < b.params.size(); ++i) {
    State& state = *b.states[i];
    if (state.empty()) {
      state.set("step", number_tensor(0));
      state.set("mu_product", number_tensor(1));
      state.set("exp_avg", zeros_like(b.params[i]));
      state.set("exp_avg_sq", zeros_like(b.params[i]));
    }
    const double mu = beta1 * (1 - 0.5 * std::pow(0.96, count_step(state) * decay));
    const Tensor& product = state.tensor("mu_product");
    // In the tensor's own precision, as PyTorch multiplies it.
    set_number(product, product.dtype() == DType::float64
                            ? item_of(product).to_double() * mu
                            : static_cast<float>(item_of(product).to_double()) * static_cast<float>(mu));
  }
  fused_nadam_(b.params, b.grads, b.all("exp_avg"), b.all("exp_avg_sq"), b.all("mu_product"), b.all("step"),
               o.number("lr"), beta1, beta2, o.number("eps"), o.number("weight_decay"), decay,
               o.flag("decoupled_weight_decay"), o.flag("maximize"));
}

RAdam::RAdam(ParamGroups params, const Options& options)
    : Optimizer(std::move(params), Options{{"lr", 1e-3},
                                           {"betas", std::tuple(0.9, 0.999)},
                                           {"eps", 1e-8},
                                           {"weight_decay", 0},
                                           {"maximize", false},
                                           {"foreach", {}},
                                           {"capturable", false},
                                           {"decoupled_weight_decay", false},
                                           {"differentiable", false}}
                                       .with(options, "RAdam")) {
  check_adam_options();
}

void RAdam::update(const ParamGroup& group) {
  const Options& o = group.options;
  const Batch b = batch(group);
  for (size_t i = 0; i < b.params.size(); ++i) begin_step(*b.states[i], b.params[i], {"exp_avg", "exp_avg_sq"});
  const auto [beta1, beta2] = o.pair("betas");
  fused_radam_(b.params, b.grads, b.all("exp_avg"), b.all("exp_avg_sq"), b.all("step"), o.number("lr"), beta1, beta2,
               o.number("eps"), o.number("weight_decay"), o.flag("decoupled_weight_decay"), o.flag("maximize"));
}

}  // namespace sconce::optim
