// Stochastic gradient descent, with momentum.
#include "sconce/generated/creation.h"
#include "sconce/generated/optimizer.h"
#include "sconce/optim/optimizers.h"

namespace sconce::optim {

SGD::SGD(ParamGroups params, const Options& options)
    : Optimizer(std::move(params), Options{{"lr", 1e-3},
                                           {"momentum", 0},
                                           {"dampening", 0},
                                           {"weight_decay", 0},
                                           {"nesterov", false},
                                           {"maximize", false},
                                           {"foreach", {}},
                                           {"differentiable", false},
                                           {"fused", {}}}
                                       .with(options, "SGD")) {
  check_not_negative("lr", "Invalid learning rate");
  check_not_negative("momentum", "Invalid momentum value");
  check_not_negative("weight_decay", "Invalid weight_decay value");
  SCONCE_CHECK_AS(value,
                  !defaults().flag("nesterov") || (defaults().number("momentum") > 0 && !defaults().flag("dampening")),
                  "Nesterov momentum requires a momentum and zero dampening");
}

void SGD::update(const ParamGroup& group) {
  const Options& o = group.options;
  const double momentum = o.number("momentum");
  const auto run = [&](const Batch& b, const std::vector<Tensor>& buffers, bool first) {
    if (b.empty()) return;
    _fused_sgd_(b.params, b.grads, buffers, o.number("weight_decay"), momentum, o.number("lr"), o.number("dampening"),
                o.flag("nesterov"), o.flag("maximize"), first);
  };
  const Batch all = batch(group);
  if (momentum == 0) return run(all, {}, false);
  Batch fresh, known;  // without and with a buffer
  for (size_t i = 0; i < all.params.size(); ++i) {
    const Value* buffer = all.states[i]->find("momentum_buffer");
    const bool has_buffer = buffer && buffer->is_tensor();
    if (!has_buffer) all.states[i]->set("momentum_buffer", empty_like(all.grads[i]));
    (has_buffer ? known : fresh).add(all, i);
  }
  run(fresh, fresh.all("momentum_buffer"), true);
  run(known, known.all("momentum_buffer"), false);
}

}  // namespace sconce::optim
