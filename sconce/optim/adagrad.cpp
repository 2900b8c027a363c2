// Adagrad: rates by the sum of squared gradients of each element.
#include "sconce/generated/creation.h"
#include "sconce/generated/optimizer.h"
#include "sconce/optim/optimizers.h"
#include "sconce/optim/step_count.h"

namespace sconce::optim {

Adagrad::Adagrad(ParamGroups params, const Options& options)
    : Optimizer(std::move(params), Options{{"lr", 1e-2},
                                           {"lr_decay", 0},
                                           {"eps", 1e-10},
                                           {"weight_decay", 0},
                                           {"initial_accumulator_value", 0},
                                           {"foreach", {}},
                                           {"maximize", false},
                                           {"differentiable", false},
                                           {"fused", {}}}
                                       .with(options, "Adagrad")) {
  check_not_negative("lr", "Invalid learning rate");
  check_not_negative("lr_decay", "Invalid lr_decay value");
  check_not_negative("weight_decay", "Invalid weight_decay value");
  check_not_negative("initial_accumulator_value", "Invalid initial_accumulator_value value");
  check_not_negative("eps", "Invalid epsilon value");
  for (const ParamGroup& group : param_groups()) {
    for (const Tensor& t : group.params) begin(t, group);
  }
}

// State is there before the first step.
void Adagrad::begin(const Tensor& parameter, const ParamGroup& group) {
  State& own = state(parameter);
  if (!own.empty()) return;
  const double value = group.options.number("initial_accumulator_value");
  own.set("step", number_tensor(0));
  own.set("sum", full_like(shallow_copy(parameter),
                           is_complex(parameter.dtype()) ? Scalar(std::complex<double>(value, value)) : Scalar(value)));
}

void Adagrad::update(const ParamGroup& group) {
  const Options& o = group.options;
  const Batch b = batch(group);
  for (size_t i = 0; i < b.params.size(); ++i) {
    begin(b.params[i], group);
    count_step(*b.states[i]);
  }
  _fused_adagrad_(b.params, b.grads, b.all("sum"), b.all("step"), o.number("lr"), o.number("lr_decay"),
                  o.number("weight_decay"), o.number("eps"), o.flag("maximize"));
}

}  // namespace sconce::optim
