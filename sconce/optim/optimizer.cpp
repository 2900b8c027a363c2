#include "sconce/optim/optimizer.h"

#include <unordered_set>

#include "sconce/autograd/variable.h"
#include "sconce/autograd/zero_grad.h"
#include "sconce/tensor/grad_mode.h"

namespace sconce::optim {

ParamGroups::ParamGroups(std::vector<Tensor> params) { groups_.push_back({std::move(params)}); }

ParamGroups::ParamGroups(const std::vector<std::pair<std::string, Tensor>>& named) {
  ParamGroup& group = groups_.emplace_back();
  for (const auto& [name, t] : named) {
    group.params.push_back(t);
    group.names.push_back(name);
  }
}

Optimizer::Optimizer(ParamGroups params, Options defaults) : defaults_(std::move(defaults)) {
  std::vector<ParamGroup> groups = std::move(params).take();
  SCONCE_CHECK_AS(value, !groups.empty() && (groups.size() > 1 || !groups[0].params.empty()),
                  "optimizer got an empty parameter list");
  refuse_unsupported();
  for (ParamGroup& group : groups) Optimizer::add_param_group(std::move(group));
}

Optimizer::~Optimizer() = default;

void Optimizer::check_group(const ParamGroup& group) const {
  for (const Tensor& t : group.params) {
    SCONCE_CHECK_AS(type, t.defined(), "optimizer can only optimize Tensors, but one of the params is None");
    SCONCE_CHECK_AS(value, autograd::is_leaf(t) || autograd::retains_grad(t), "can't optimize a non-leaf Tensor");
  }
  SCONCE_CHECK_AS(value, group.names.empty() || group.names.size() == group.params.size(),
                  "all optimizer params should be with/without names. Some param names are missing");
  std::unordered_set<const TensorImpl*> known;
  for (const ParamGroup& other : groups_) {
    SCONCE_CHECK_AS(value, other.names.empty() == group.names.empty(),
                    "all optimizer param groups should be with/without names. cannot add param group {} to the "
                    "optimizer",
                    group.names.empty() ? "without names" : "with names");
    for (const Tensor& t : other.params) known.insert(t.impl());
  }
  for (const Tensor& t : group.params) {
    SCONCE_CHECK_AS(value, !known.contains(t.impl()), "some parameters appear in more than one parameter group");
  }
}

void Optimizer::add_param_group(ParamGroup group) {
  check_group(group);
  Options options = defaults_;
  for (const auto& [name, v] : group.options.items()) options.set(name, v);
  group.options = std::move(options);
  groups_.push_back(std::move(group));
}

void Optimizer::check_not_negative(std::string_view option, std::string_view text) const {
  SCONCE_CHECK_AS(value, defaults_.number(option) >= 0, "{}: {}", text, defaults_.at(option).repr());
}

void Optimizer::check_adam_options() const {
  check_not_negative("lr", "Invalid learning rate");
  check_not_negative("eps", "Invalid epsilon value");
  const auto [first, second] = defaults_.pair("betas");
  SCONCE_CHECK_AS(value, first >= 0 && first < 1, "Invalid beta parameter at index 0: {}", float_repr(first));
  SCONCE_CHECK_AS(value, second >= 0 && second < 1, "Invalid beta parameter at index 1: {}", float_repr(second));
  check_not_negative("weight_decay", "Invalid weight_decay value");
}

void Optimizer::refuse_unsupported() const {
  for (const char* option : {"capturable", "differentiable"}) {
    const Value* v = defaults_.find(option);
    SCONCE_CHECK_AS(not_implemented, !v || v->is_none() || number_of(*v, option) == 0, "{}=True is not supported",
                    option);
  }
}

Tensor Optimizer::step(const Closure& closure) {
  Tensor loss;
  if (closure) {
    const EnableGrad recording;
    loss = closure();
  }
  const NoGrad quiet;
  for (const ParamGroup& group : groups_) update(group);
  return loss;
}

void Optimizer::zero_grad(bool set_to_none) {
  for (const ParamGroup& group : groups_) {
    for (const Tensor& t : group.params) autograd::zero_grad(t, set_to_none);
  }
}

std::vector<Tensor> Optimizer::Batch::all(std::string_view name) const {
  std::vector<Tensor> tensors;
  tensors.reserve(states.size());
  for (const State* state : states) tensors.push_back(state->tensor(name));
  return tensors;
}

void Optimizer::Batch::add(const Batch& from, size_t i) {
  params.push_back(from.params[i]);
  grads.push_back(from.grads[i]);
  states.push_back(from.states[i]);
}

Optimizer::Batch Optimizer::batch(const ParamGroup& group) {
  Batch batch;
  for (const Tensor& t : group.params) {
    Tensor grad = autograd::grad(t);
    if (!grad.defined()) continue;
    batch.params.push_back(t);
    batch.grads.push_back(std::move(grad));
    batch.states.push_back(&state_[t.impl()]);
  }
  return batch;
}

const State& Optimizer::state_of(const Tensor& parameter) const {
  static const State empty;
  const auto found = state_.find(parameter.impl());
  return found == state_.end() ? empty : found->second;
}

}  // namespace sconce::optim
