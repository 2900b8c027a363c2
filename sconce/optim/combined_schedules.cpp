// Schedules made of schedules or functions: LambdaLR, MultiplicativeLR, SequentialLR, ChainedScheduler.
#include <algorithm>

#include "sconce/optim/schedulers.h"
#include "sconce/optim/state_fields.h"

namespace sconce::optim {
namespace {

void check_parts(std::string_view owner, const std::vector<LRScheduler*>& parts, const Optimizer& optimizer) {
  for (size_t i = 0; i < parts.size(); ++i) {
    SCONCE_CHECK_AS(value, parts[i], "{}: the scheduler at index {} is null", owner, i);
    SCONCE_CHECK_AS(value, parts[i]->name() != "ReduceLROnPlateau",
                    "{} does not support `ReduceLROnPlateau` scheduler as it requires additional kwargs to be "
                    "specified when calling `step`, but got one at index {} in the given schedulers sequence.",
                    owner, i);
    SCONCE_CHECK_AS(value, &parts[i]->optimizer() == &optimizer,
                    "{} expects all schedulers to belong to the same optimizer, but got scheduler {} at index {} of "
                    "another one",
                    owner, parts[i]->name(), i);
  }
}

// The optimiser of the first, which need not be there.
Optimizer& first_optimizer(const std::vector<LRScheduler*>& parts) {
  SCONCE_CHECK_AS(value, !parts.empty() && parts[0],
                  "ChainedScheduler expects at least one scheduler to be chained, but got no scheduler.");
  return parts[0]->optimizer();
}

void visit_parts(StateFields& fields, const std::vector<LRScheduler*>& parts) {
  Ref<List> states = make_ref<List>(any_type());
  if (fields.writes()) {
    for (const LRScheduler* part : parts) states->append(part->state_dict());
  }
  Value packed(states);
  fields.value("_schedulers", packed);
  if (fields.writes()) return;
  const std::vector<Value> items = packed.to_list().values();
  SCONCE_CHECK_AS(value, items.size() == parts.size(), "the state is of {} schedulers, there are {}", items.size(),
                  parts.size());
  for (size_t i = 0; i < parts.size(); ++i) parts[i]->load_state_dict(items[i]);
}

}  // namespace

SequentialLR::SequentialLR(Optimizer& optimizer, std::vector<LRScheduler*> schedulers, std::vector<int64_t> milestones,
                           int64_t last_epoch)
    : LRScheduler(optimizer), schedulers_(std::move(schedulers)), milestones_(std::move(milestones)) {
  SCONCE_CHECK_AS(value, !schedulers_.empty(), "SequentialLR expects at least one scheduler, but got no scheduler.");
  check_parts("SequentialLR", schedulers_, optimizer);
  SCONCE_CHECK_AS(value, milestones_.size() + 1 == schedulers_.size(),
                  "Sequential Schedulers expects number of schedulers provided to be one more than the number of "
                  "milestone points, but got number of schedulers {} and the number of milestones to be equal to {}",
                  schedulers_.size(), milestones_.size());
  last_epoch_ = last_epoch + 1;
  // Every part made its first step already, over those before it: all are taken back, and the first one's is made.
  for (size_t i = 0; i < group_count(); ++i) {
    optimizer.set_lr(optimizer.param_groups()[i].options.number("initial_lr"), i);
  }
  for (LRScheduler* part : schedulers_) part->undo_first_step();
  LRScheduler& first = *schedulers_[static_cast<size_t>(std::upper_bound(milestones_.begin(), milestones_.end(), 0) -
                                                        milestones_.begin())];
  first.begin();
  last_lr_ = first.get_last_lr();
}

LRScheduler& SequentialLR::active() const {
  const auto at = std::upper_bound(milestones_.begin(), milestones_.end(), last_epoch_) - milestones_.begin();
  return *schedulers_[static_cast<size_t>(at)];
}

void SequentialLR::step(std::optional<double> epoch) {
  SCONCE_CHECK_AS(type, !epoch, "SequentialLR.step() takes no epoch");
  ++last_epoch_;
  LRScheduler& part = active();
  if (std::find(milestones_.begin(), milestones_.end(), last_epoch_) != milestones_.end()) {
    part.go_to(0);
  } else {
    part.step();
  }
  last_lr_ = part.get_last_lr();
}

void SequentialLR::undo_first_step() {
  for (LRScheduler* part : schedulers_) part->undo_first_step();
}

void SequentialLR::visit(StateFields& fields) {
  fields("_milestones", milestones_);
  fields("last_epoch", last_epoch_);
  fields("_last_lr", last_lr_);
  visit_parts(fields, schedulers_);
}

ChainedScheduler::ChainedScheduler(std::vector<LRScheduler*> schedulers)
    : LRScheduler(first_optimizer(schedulers)), schedulers_(std::move(schedulers)) {
  check_parts("ChainedScheduler", schedulers_, optimizer_);
  last_lr_ = current();
}

void ChainedScheduler::step(std::optional<double> epoch) {
  SCONCE_CHECK_AS(type, !epoch, "ChainedScheduler.step() takes no epoch");
  for (LRScheduler* part : schedulers_) part->step();
  last_lr_ = current();
}

void ChainedScheduler::undo_first_step() {
  for (LRScheduler* part : schedulers_) part->undo_first_step();
}

void ChainedScheduler::visit(StateFields& fields) {
  fields("_last_lr", last_lr_);
  visit_parts(fields, schedulers_);
}

}  // namespace sconce::optim
