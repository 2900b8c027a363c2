// Optimizer: the base class of gradient-based optimisers. An optimiser holds parameters in groups; step() changes them
// by their gradients.
//
//   optim::SGD sgd(net.parameters(), {{"lr", 0.1}, {"momentum", 0.9}});
//   for (...) {
//     sgd.zero_grad();
//     loss(net(x), y).backward();
//     sgd.step();
//   }
//
// Options have PyTorch's names, defaults and checks, and state dicts PyTorch's layout. Everything throws Error.
#pragma once

#include <functional>
#include <memory>
#include <unordered_map>

#include "sconce/optim/options.h"

namespace sconce::optim {

struct ParamGroup {
  std::vector<Tensor> params;
  Options options = {};                 // the others have the optimiser's defaults
  std::vector<std::string> names = {};  // of the params; none, or one for each
};

// The parameters of an optimiser: tensors, tensors with their names, or groups.
class SCONCE_API ParamGroups {
 public:
  ParamGroups(std::vector<Tensor> params);
  ParamGroups(const std::vector<std::pair<std::string, Tensor>>& named);
  ParamGroups(std::vector<ParamGroup> groups) : groups_(std::move(groups)) {}
  ParamGroups(std::initializer_list<Tensor> params) : ParamGroups(std::vector<Tensor>(params)) {}
  ParamGroups(std::initializer_list<ParamGroup> groups) : groups_(groups) {}
  std::vector<ParamGroup> take() && { return std::move(groups_); }

 private:
  std::vector<ParamGroup> groups_;
};

// Evaluates the model: clears gradients, computes the loss, calls backward, returns the loss.
using Closure = std::function<Tensor()>;
// The state of one parameter between steps, under PyTorch's names ("exp_avg").
using State = Options;

class SCONCE_API Optimizer {
 public:
  virtual ~Optimizer();
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  virtual std::string_view name() const = 0;  // "SGD"
  // One step. With a closure, evaluates it first (with gradients recorded) and returns its loss; else returns
  // undefined. Parameters without a gradient are left alone.
  virtual Tensor step(const Closure& closure = {});
  // Clears gradients; without set_to_none they become zeros.
  void zero_grad(bool set_to_none = true);

  // Groups may be changed in place (param_groups()[0].options.set("lr", 0.01)).
  std::vector<ParamGroup>& param_groups() { return groups_; }
  const std::vector<ParamGroup>& param_groups() const { return groups_; }
  const Options& defaults() const { return defaults_; }
  // Throws Error if a tensor is not a leaf, or is in another group already.
  virtual void add_param_group(ParamGroup group);
  // The learning rate of a group.
  double lr(size_t group = 0) const { return groups_.at(group).options.number("lr"); }
  void set_lr(double lr, size_t group = 0) { groups_.at(group).options.set_number("lr", lr); }

  // {'state': {0: {'step': ..., 'exp_avg': ...}, ...}, 'param_groups': [{'lr': ..., 'params': [0, ...]}, ...]}: what
  // PyTorch's optimisers read and give. Tensors are shared, not copied. write_pickled() saves it as torch.save does.
  Value state_dict() const;
  // Takes over a state dict, from PyTorch's optimiser, too. Tensors are copied, in the dtype of their parameter. Throws
  // Error (value) if groups do not match.
  void load_state_dict(const Value& state);

  // State of a parameter; empty before its first step.
  const State& state_of(const Tensor& parameter) const;

 protected:
  // `defaults` are complete: options that were given over the optimiser's own.
  Optimizer(ParamGroups params, Options defaults);
  // Throws Error: "{text}: {value}" if the option is negative.
  void check_not_negative(std::string_view option, std::string_view text) const;
  void check_adam_options() const;  // lr, eps, betas, weight_decay
  // Options of PyTorch that only a GPU, or differentiating through the step, makes use of.
  void refuse_unsupported() const;

  // The parameters of a group that have gradients.
  struct Batch {
    std::vector<Tensor> params, grads;
    std::vector<State*> states;
    bool empty() const { return params.empty(); }
    std::vector<Tensor> all(std::string_view name) const;  // of every state
    void add(const Batch& from, size_t i);
  };
  Batch batch(const ParamGroup& group);
  State& state(const Tensor& parameter) { return state_[parameter.impl()]; }
  // Changes the parameters of a group; runs without recording.
  virtual void update(const ParamGroup& group) = 0;
  // After load_state_dict: converts the state that older versions saved.
  virtual void loaded() {}

 private:
  void check_group(const ParamGroup& group) const;

  std::vector<ParamGroup> groups_;
  Options defaults_;
  std::unordered_map<const TensorImpl*, State> state_;
};

// "Adam" -> an optimiser of that kind. Throws Error (value) for unknown names.
SCONCE_API std::unique_ptr<Optimizer> make_optimizer(std::string_view name, ParamGroups params,
                                                     const Options& options = {});

}  // namespace sconce::optim
