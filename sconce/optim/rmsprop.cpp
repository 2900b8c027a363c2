// RMSprop and Adadelta: steps over the size that gradients had of late.
#include "sconce/generated/creation.h"
#include "sconce/generated/optimizer.h"
#include "sconce/optim/optimizers.h"
#include "sconce/optim/step_count.h"

namespace sconce::optim {

RMSprop::RMSprop(ParamGroups params, const Options& options)
    : Optimizer(std::move(params), Options{{"lr", 1e-2},
                                           {"momentum", 0},
                                           {"alpha", 0.99},
                                           {"eps", 1e-8},
                                           {"centered", false},
                                           {"weight_decay", 0},
                                           {"capturable", false},
                                           {"foreach", {}},
                                           {"maximize", false},
                                           {"differentiable", false}}
                                       .with(options, "RMSprop")) {
  check_not_negative("lr", "Invalid learning rate");
  check_not_negative("eps", "Invalid epsilon value");
  check_not_negative("momentum", "Invalid momentum value");
  check_not_negative("weight_decay", "Invalid weight_decay value");
  check_not_negative("alpha", "Invalid alpha value");
}

void RMSprop::update(const ParamGroup& group) {
  const Options& o = group.options;
  const bool centered = o.flag("centered");
  const double momentum = o.number("momentum");
  const Batch b = batch(group);
  Names zeros{"square_avg"};
  if (momentum > 0) zeros.push_back("momentum_buffer");
  if (centered) zeros.push_back("grad_avg");
  for (size_t i = 0; i < b.params.size(); ++i) begin_step(*b.states[i], b.params[i], zeros);
  fused_rmsprop_(b.params, b.grads, b.all("square_avg"), centered ? b.all("grad_avg") : std::vector<Tensor>(),
                 momentum > 0 ? b.all("momentum_buffer") : std::vector<Tensor>(), o.number("lr"), o.number("alpha"),
                 o.number("eps"), o.number("weight_decay"), momentum, centered, o.flag("maximize"));
}

Adadelta::Adadelta(ParamGroups params, const Options& options)
    : Optimizer(std::move(params), Options{{"lr", 1.0},
                                           {"rho", 0.9},
                                           {"eps", 1e-6},
                                           {"weight_decay", 0},
                                           {"maximize", false},
                                           {"capturable", false},
                                           {"foreach", {}},
                                           {"differentiable", false}}
                                       .with(options, "Adadelta")) {
  check_not_negative("lr", "Invalid learning rate");
  const double rho = defaults().number("rho");
  SCONCE_CHECK_AS(value, rho >= 0 && rho <= 1, "Invalid rho value: {}", defaults().at("rho").repr());
  check_not_negative("eps", "Invalid epsilon value");
  check_not_negative("weight_decay", "Invalid weight_decay value");
}

void Adadelta::update(const ParamGroup& group) {
  const Options& o = group.options;
  const Batch b = batch(group);
  for (size_t i = 0; i < b.params.size(); ++i) begin_step(*b.states[i], b.params[i], {"square_avg", "acc_delta"});
  fused_adadelta_(b.params, b.grads, b.all("square_avg"), b.all("acc_delta"), o.number("lr"), o.number("rho"),
                  o.number("eps"), o.number("weight_decay"), o.flag("maximize"));
}

}  // namespace sconce::optim
