// The optimisers, from SGD to LBFGS. Arguments, defaults and refusals are those of torch.optim, by name.
#pragma once

#include "sconce/optim/optimizer.h"

namespace sconce::optim {

// lr=1e-3, momentum=0, dampening=0, weight_decay=0, nesterov=False, maximize=False
class SCONCE_API SGD final : public Optimizer {
 public:
  explicit SGD(ParamGroups params, const Options& options = {});
  std::string_view name() const override { return "SGD"; }

 private:
  void update(const ParamGroup& group) override;
};

// lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, amsgrad=False, maximize=False
class SCONCE_API Adam : public Optimizer {
 public:
  explicit Adam(ParamGroups params, const Options& options = {});
  std::string_view name() const override { return "Adam"; }

 protected:
  struct Complete {};  // defaults, overridden by the given options
  Adam(ParamGroups params, Options defaults, Complete);

 private:
  void update(const ParamGroup& group) override;
};

// Adam whose weight decay (0.01) shrinks the parameter rather than being a part of the gradient.
class SCONCE_API AdamW final : public Adam {
 public:
  explicit AdamW(ParamGroups params, const Options& options = {});
  std::string_view name() const override { return "AdamW"; }

 private:
  void loaded() override;
};

// lr=1e-2, alpha=0.99, eps=1e-8, weight_decay=0, momentum=0, centered=False, maximize=False
class SCONCE_API RMSprop final : public Optimizer {
 public:
  explicit RMSprop(ParamGroups params, const Options& options = {});
  std::string_view name() const override { return "RMSprop"; }

 private:
  void update(const ParamGroup& group) override;
};

// lr=1e-2, lr_decay=0, weight_decay=0, initial_accumulator_value=0, eps=1e-10, maximize=False
class SCONCE_API Adagrad final : public Optimizer {
 public:
  explicit Adagrad(ParamGroups params, const Options& options = {});
  std::string_view name() const override { return "Adagrad"; }

 private:
  void begin(const Tensor& parameter, const ParamGroup& group);
  void update(const ParamGroup& group) override;
};

// lr=1.0, rho=0.9, eps=1e-6, weight_decay=0, maximize=False
class SCONCE_API Adadelta final : public Optimizer {
 public:
  explicit Adadelta(ParamGroups params, const Options& options = {});
  std::string_view name() const override { return "Adadelta"; }

 private:
  void update(const ParamGroup& group) override;
};

// lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, maximize=False
class SCONCE_API Adamax final : public Optimizer {
 public:
  explicit Adamax(ParamGroups params, const Options& options = {});
  std::string_view name() const override { return "Adamax"; }

 private:
  void update(const ParamGroup& group) override;
};

// lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, momentum_decay=4e-3,
// decoupled_weight_decay=False, maximize=False
class SCONCE_API NAdam final : public Optimizer {
 public:
  explicit NAdam(ParamGroups params, const Options& options = {});
  std::string_view name() const override { return "NAdam"; }

 private:
  void update(const ParamGroup& group) override;
};

// lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, decoupled_weight_decay=False, maximize=False
class SCONCE_API RAdam final : public Optimizer {
 public:
  explicit RAdam(ParamGroups params, const Options& options = {});
  std::string_view name() const override { return "RAdam"; }

 private:
  void update(const ParamGroup& group) override;
};

// lr=1e-2, etas=(0.5, 1.2), step_sizes=(1e-6, 50), maximize=False
class SCONCE_API Rprop final : public Optimizer {
 public:
  explicit Rprop(ParamGroups params, const Options& options = {});
  std::string_view name() const override { return "Rprop"; }

 private:
  void update(const ParamGroup& group) override;
};

// lr=1e-2, lambd=1e-4, alpha=0.75, t0=1e6, weight_decay=0, maximize=False
class SCONCE_API ASGD final : public Optimizer {
 public:
  explicit ASGD(ParamGroups params, const Options& options = {});
  std::string_view name() const override { return "ASGD"; }

 private:
  void update(const ParamGroup& group) override;
};

// lr=1, max_iter=20, max_eval=None (max_iter * 5 // 4), tolerance_grad=1e-7, tolerance_change=1e-9, history_size=100,
// line_search_fn=None (or "strong_wolfe"). One group; step() needs a closure and calls it several times.
class SCONCE_API LBFGS final : public Optimizer {
 public:
  explicit LBFGS(ParamGroups params, const Options& options = {});
  std::string_view name() const override { return "LBFGS"; }
  Tensor step(const Closure& closure = {}) override;
  void add_param_group(ParamGroup group) override;

 private:
  void update(const ParamGroup& group) override;
  const std::vector<Tensor>& params() const { return param_groups()[0].params; }
  Tensor flat_gradient() const;
  void move(double length, const Tensor& direction);  // parameters += length * direction
  Tensor direction(const Tensor& gradient, State& state);
};

}  // namespace sconce::optim
