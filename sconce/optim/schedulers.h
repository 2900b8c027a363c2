// The learning-rate schedules, with the arguments of torch.optim.lr_scheduler.
#pragma once

#include "sconce/optim/scheduler.h"

namespace sconce::optim {

// Times gamma every step_size epochs.
class SCONCE_API StepLR final : public LRScheduler {
 public:
  StepLR(Optimizer& optimizer, int64_t step_size, double gamma = 0.1, int64_t last_epoch = -1);
  std::string_view name() const override { return "StepLR"; }

 private:
  std::vector<double> get_lr() override;
  std::vector<double> closed_form() override;
  void visit(StateFields& fields) override;
  int64_t step_size_;
  double gamma_;
};

// Times gamma at every milestone.
class SCONCE_API MultiStepLR final : public LRScheduler {
 public:
  MultiStepLR(Optimizer& optimizer, std::vector<int64_t> milestones, double gamma = 0.1, int64_t last_epoch = -1);
  std::string_view name() const override { return "MultiStepLR"; }

 private:
  std::vector<double> get_lr() override;
  std::vector<double> closed_form() override;
  void visit(StateFields& fields) override;
  std::vector<int64_t> milestones_;  // sorted
  double gamma_;
};

// Times `factor` until epoch total_iters.
class SCONCE_API ConstantLR final : public LRScheduler {
 public:
  ConstantLR(Optimizer& optimizer, double factor = 1.0 / 3, int64_t total_iters = 5, int64_t last_epoch = -1);
  std::string_view name() const override { return "ConstantLR"; }

 private:
  std::vector<double> get_lr() override;
  std::vector<double> closed_form() override;
  void visit(StateFields& fields) override;
  double factor_;
  int64_t total_iters_;
};

// Times a factor that goes from start_factor to end_factor in total_iters epochs.
class SCONCE_API LinearLR final : public LRScheduler {
 public:
  LinearLR(Optimizer& optimizer, double start_factor = 1.0 / 3, double end_factor = 1, int64_t total_iters = 5,
           int64_t last_epoch = -1);
  std::string_view name() const override { return "LinearLR"; }

 private:
  std::vector<double> get_lr() override;
  std::vector<double> closed_form() override;
  void visit(StateFields& fields) override;
  double start_factor_, end_factor_;
  int64_t total_iters_;
};

// Times gamma every epoch.
class SCONCE_API ExponentialLR final : public LRScheduler {
 public:
  ExponentialLR(Optimizer& optimizer, double gamma, int64_t last_epoch = -1);
  std::string_view name() const override { return "ExponentialLR"; }

 private:
  std::vector<double> get_lr() override;
  std::vector<double> closed_form() override;
  void visit(StateFields& fields) override;
  double gamma_;
};

// To zero in total_iters epochs, as a power of the remaining part.
class SCONCE_API PolynomialLR final : public LRScheduler {
 public:
  PolynomialLR(Optimizer& optimizer, int64_t total_iters = 5, double power = 1, int64_t last_epoch = -1);
  std::string_view name() const override { return "PolynomialLR"; }

 private:
  std::vector<double> get_lr() override;
  std::vector<double> closed_form() override;
  void visit(StateFields& fields) override;
  int64_t total_iters_;
  double power_;
};

// Half a cosine from the first rate to eta_min in T_max epochs, and back.
class SCONCE_API CosineAnnealingLR final : public LRScheduler {
 public:
  CosineAnnealingLR(Optimizer& optimizer, int64_t T_max, double eta_min = 0, int64_t last_epoch = -1);
  std::string_view name() const override { return "CosineAnnealingLR"; }

 private:
  std::vector<double> get_lr() override;
  std::vector<double> closed_form() override;
  void visit(StateFields& fields) override;
  int64_t t_max_;
  double eta_min_;
};

// The same, beginning again after T_0 epochs, then after T_mult times as many, and so on. step() takes fractions, too.
class SCONCE_API CosineAnnealingWarmRestarts final : public LRScheduler {
 public:
  CosineAnnealingWarmRestarts(Optimizer& optimizer, int64_t T_0, int64_t T_mult = 1, double eta_min = 0,
                              int64_t last_epoch = -1);
  std::string_view name() const override { return "CosineAnnealingWarmRestarts"; }
  void step(std::optional<double> epoch = std::nullopt) override;

 private:
  std::vector<double> get_lr() override;
  void visit(StateFields& fields) override;
  int64_t t_0_, t_i_, t_mult_;
  double eta_min_, t_cur_;
};

// The first rate times a function of the epoch.
class SCONCE_API LambdaLR final : public LRScheduler {
 public:
  using Lambda = std::function<double(int64_t epoch)>;
  LambdaLR(Optimizer& optimizer, const Lambda& lr_lambda, int64_t last_epoch = -1);
  LambdaLR(Optimizer& optimizer, std::vector<Lambda> lr_lambdas, int64_t last_epoch = -1);  // one per group
  std::string_view name() const override { return "LambdaLR"; }

 private:
  std::vector<double> get_lr() override;
  std::vector<Lambda> lambdas_;
};

// The last rate times a function of the epoch.
class SCONCE_API MultiplicativeLR final : public LRScheduler {
 public:
  using Lambda = std::function<double(int64_t epoch)>;
  MultiplicativeLR(Optimizer& optimizer, Lambda lr_lambda, int64_t last_epoch = -1);
  std::string_view name() const override { return "MultiplicativeLR"; }

 private:
  std::vector<double> get_lr() override;
  Lambda lambda_;
};

// One schedule after the other; they count from 0 at their milestone. Keeps references.
class SCONCE_API SequentialLR final : public LRScheduler {
 public:
  SequentialLR(Optimizer& optimizer, std::vector<LRScheduler*> schedulers, std::vector<int64_t> milestones,
               int64_t last_epoch = -1);
  std::string_view name() const override { return "SequentialLR"; }
  void step(std::optional<double> epoch = std::nullopt) override;

 private:
  std::vector<double> get_lr() override { return current(); }
  void visit(StateFields& fields) override;
  void undo_first_step() override;
  LRScheduler& active() const;
  std::vector<LRScheduler*> schedulers_;
  std::vector<int64_t> milestones_;
};

// Several schedules at once. Keeps references.
class SCONCE_API ChainedScheduler final : public LRScheduler {
 public:
  explicit ChainedScheduler(std::vector<LRScheduler*> schedulers);
  std::string_view name() const override { return "ChainedScheduler"; }
  void step(std::optional<double> epoch = std::nullopt) override;

 private:
  std::vector<double> get_lr() override { return current(); }
  void visit(StateFields& fields) override;
  void undo_first_step() override;
  std::vector<LRScheduler*> schedulers_;
};

// mode="min" (or "max"), factor=0.1, patience=10, threshold=1e-4, threshold_mode="rel" (or "abs"), cooldown=0,
// min_lr=0, eps=1e-8: less when a metric has not improved for `patience` epochs. step(metric).
class SCONCE_API ReduceLROnPlateau final : public LRScheduler {
 public:
  explicit ReduceLROnPlateau(Optimizer& optimizer, const Options& options = {});
  std::string_view name() const override { return "ReduceLROnPlateau"; }
  void step(std::optional<double> metrics = std::nullopt) override;

 private:
  std::vector<double> get_lr() override { return current(); }
  void visit(StateFields& fields) override;
  bool is_better(double metric) const;
  void reduce();
  std::string mode_, threshold_mode_;
  double factor_, threshold_, eps_, best_;
  int64_t patience_, cooldown_, cooldown_counter_ = 0, num_bad_epochs_ = 0;
  std::vector<double> min_lrs_;
};

// Schedules that change the momentum (or beta1), too.
class SCONCE_API MomentumSchedule : public LRScheduler {
 protected:
  using LRScheduler::LRScheduler;
  // Checks that the optimiser has a momentum, and begins at the largest one.
  void begin_momentum(const Options& options);
  void set_momentum(size_t group, double v);
  void visit(StateFields& fields) override;
  bool cycle_momentum_ = true;
  bool use_beta1_ = false;
};

// base_lr, max_lr, step_size_up=2000, step_size_down=None, mode="triangular" (or "triangular2", "exp_range"), gamma=1,
// scale_mode="cycle" (or "iterations"), cycle_momentum=True, base_momentum=0.8, max_momentum=0.9, last_epoch=-1.
class SCONCE_API CyclicLR final : public MomentumSchedule {
 public:
  using Scale = std::function<double(double)>;
  CyclicLR(Optimizer& optimizer, const Options& options, Scale scale_fn = {});
  std::string_view name() const override { return "CyclicLR"; }

 private:
  struct Complete {};
  CyclicLR(Optimizer& optimizer, const Options& options, Scale scale_fn, Complete);
  std::vector<double> get_lr() override;
  void visit(StateFields& fields) override;
  double scale(double x) const;
  std::vector<double> max_lrs_, base_momentums_, max_momentums_;
  double total_size_ = 0, step_ratio_ = 0, gamma_ = 1;
  std::string mode_, scale_mode_;
  Scale scale_fn_;
};

// max_lr, total_steps=None, epochs=None, steps_per_epoch=None, pct_start=0.3, anneal_strategy="cos" (or "linear"),
// cycle_momentum=True, base_momentum=0.85, max_momentum=0.95, div_factor=25, final_div_factor=1e4, three_phase=False,
// last_epoch=-1: up to max_lr in pct_start of all steps, then down to nearly nothing.
class SCONCE_API OneCycleLR final : public MomentumSchedule {
 public:
  OneCycleLR(Optimizer& optimizer, const Options& options);
  std::string_view name() const override { return "OneCycleLR"; }

 private:
  struct Complete {};
  OneCycleLR(Optimizer& optimizer, const Options& options, Complete);
  std::vector<double> get_lr() override;
  void visit(StateFields& fields) override;
  struct Phase {
    double end_step;
    std::string start_lr, end_lr, start_momentum, end_momentum;  // names of the groups' options
  };
  static Value to_value(const std::vector<Phase>& phases);
  static std::vector<Phase> from_value(const Value& v);
  double anneal(double start, double end, double part) const;
  int64_t total_steps_ = 0;
  std::vector<Phase> phases_;
  std::string anneal_;
};

}  // namespace sconce::optim
