// LRScheduler: changes the learning rates of an optimiser's groups, one step() after the optimiser's own.
#pragma once

#include <optional>

#include "sconce/optim/optimizer.h"

namespace sconce::optim {

class StateFields;

// Keeps a reference: the optimiser must live longer.
class SCONCE_API LRScheduler {
 public:
  virtual ~LRScheduler();
  LRScheduler(const LRScheduler&) = delete;
  LRScheduler& operator=(const LRScheduler&) = delete;

  virtual std::string_view name() const = 0;  // "StepLR"
  // The next epoch (or batch, if the schedule counts those). With `epoch`, goes there, by the closed form if there is
  // one. For ReduceLROnPlateau the argument is the metric, and needed.
  virtual void step(std::optional<double> epoch = std::nullopt);
  // The rates that the last step set, one per group.
  const std::vector<double>& get_last_lr() const { return last_lr_; }
  int64_t last_epoch() const { return last_epoch_; }
  Optimizer& optimizer() const { return optimizer_; }

  // A dict of the schedule's numbers under PyTorch's names; functions are not in it.
  Value state_dict() const;
  void load_state_dict(const Value& state);

 protected:
  // `last_epoch` of -1 is a new schedule; another one goes on with an optimiser whose groups have "initial_lr".
  LRScheduler(Optimizer& optimizer, int64_t last_epoch);
  // One that leaves first rates to others.
  explicit LRScheduler(Optimizer& optimizer) : optimizer_(optimizer), last_epoch_(0) {}
  // The first step; constructors end with it.
  void begin();
  // The rates at last_epoch, from those that groups have now (or from others that went before).
  virtual std::vector<double> get_lr() = 0;
  virtual std::vector<double> closed_form() { return get_lr(); }
  // Names every member that is part of the state.
  virtual void visit(StateFields& fields);

  std::vector<double> current() const;  // the rates that groups have
  std::vector<double> scaled(double factor) const;
  void set_rates(const std::vector<double>& rates);
  size_t group_count() const { return optimizer_.param_groups().size(); }

  Optimizer& optimizer_;
  std::vector<double> base_lrs_, last_lr_;
  int64_t last_epoch_;
  int64_t step_count_ = 0;
  bool is_initial_ = false;

 private:
  friend class SequentialLR;
  friend class ChainedScheduler;
  void go_to(std::optional<double> epoch);
  // SequentialLR takes the first step of its schedules back.
  virtual void undo_first_step() { --last_epoch_; }
};

// "StepLR" with arguments by name (without the optimiser). Not those that take functions or other schedules.
SCONCE_API std::unique_ptr<LRScheduler> make_scheduler(std::string_view name, Optimizer& optimizer,
                                                       const Options& options);

}  // namespace sconce::optim
