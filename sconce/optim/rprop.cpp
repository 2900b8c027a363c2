// Rprop, which looks at signs of gradients only, and ASGD, which averages parameters.
#include <algorithm>
#include <cmath>

#include "sconce/generated/creation.h"
#include "sconce/generated/optimizer.h"
#include "sconce/optim/optimizers.h"
#include "sconce/optim/step_count.h"

namespace sconce::optim {

Rprop::Rprop(ParamGroups params, const Options& options)
    : Optimizer(std::move(params), Options{{"lr", 1e-2},
                                           {"etas", std::tuple(0.5, 1.2)},
                                           {"step_sizes", std::tuple(1e-6, 50)},
                                           {"foreach", {}},
                                           {"maximize", false},
                                           {"differentiable", false},
                                           {"capturable", false}}
                                       .with(options, "Rprop")) {
  check_not_negative("lr", "Invalid learning rate");
  const auto [minus, plus] = defaults().pair("etas");
  SCONCE_CHECK_AS(value, minus > 0 && minus < 1 && plus > 1, "Invalid eta values: {}, {}", float_repr(minus),
                  float_repr(plus));
}

void Rprop::update(const ParamGroup& group) {
  const Options& o = group.options;
  const double lr = o.number("lr");
  const Batch b = batch(group);
  for (size_t i = 0; i < b.params.size(); ++i) {
    State& state = *b.states[i];
    if (state.empty()) {
      state.set("step", number_tensor(0));
      state.set("prev", zeros_like(b.params[i]));
      // Complex numbers are two that have nothing to do with each other.
      state.set(
          "step_size",
          full_like(b.grads[i], is_complex(b.params[i].dtype()) ? Scalar(std::complex<double>(lr, lr)) : Scalar(lr)));
    }
    count_step(state);
  }
  const auto [minus, plus] = o.pair("etas");
  const auto [smallest, largest] = o.pair("step_sizes");
  fused_rprop_(b.params, b.grads, b.all("prev"), b.all("step_size"), minus, plus, smallest, largest,
               o.flag("maximize"));
}

ASGD::ASGD(ParamGroups params, const Options& options)
    : Optimizer(std::move(params), Options{{"lr", 1e-2},
                                           {"lambd", 1e-4},
                                           {"alpha", 0.75},
                                           {"t0", 1e6},
                                           {"weight_decay", 0},
                                           {"foreach", {}},
                                           {"maximize", false},
                                           {"differentiable", false},
                                           {"capturable", false}}
                                       .with(options, "ASGD")) {
  check_not_negative("lr", "Invalid learning rate");
  check_not_negative("weight_decay", "Invalid weight_decay value");
}

void ASGD::update(const ParamGroup& group) {
  const Options& o = group.options;
  const double lr = o.number("lr"), lambd = o.number("lambd");
  const Batch b = batch(group);
  for (size_t i = 0; i < b.params.size(); ++i) {
    State& state = *b.states[i];
    if (state.empty()) {
      state.set("step", number_tensor(0));
      state.set("eta", number_tensor(lr));
      state.set("mu", number_tensor(1));
      state.set("ax", zeros_like(b.params[i]));
    }
  }
  fused_asgd_(b.params, b.grads, b.all("ax"), b.all("mu"), b.all("eta"), lambd, o.number("weight_decay"),
              o.flag("maximize"));
  for (State* state : b.states) {
    const double step = count_step(*state);
    set_number(state->tensor("eta"), lr / std::pow(1 + lambd * lr * step, o.number("alpha")));
    set_number(state->tensor("mu"), 1 / std::max(1.0, step - o.number("t0")));
  }
}

}  // namespace sconce::optim
