#include "bench/rows/training.h"

#include <cmath>

#include "bench/rows/inputs.h"
#include "sconce/autograd/engine.h"
#include "sconce/autograd/variable.h"
#include "sconce/ops.h"
#include "sconce/tensor/grad_mode.h"

namespace sconce::bench {

TrainingModel::~TrainingModel() = default;

Tensor TrainingModel::add(Tensor t) {
  autograd::set_requires_grad(t, true);
  parameters_.push_back(t);
  return t;
}

Tensor TrainingModel::weight(IntList sizes, MemoryFormat format) {
  int64_t inputs = 1;
  for (size_t i = 1; i < sizes.size(); ++i) inputs *= sizes[i];
  const auto bound = static_cast<float>(1 / std::sqrt(static_cast<double>(inputs)));
  const Tensor t = uniform(sizes, static_cast<uint32_t>(parameters_.size()) + 1, -bound, bound);
  return add(t.contiguous(format));
}

Tensor TrainingModel::constant(IntList sizes, double value) { return add(full(sizes, value)); }

namespace {

using MakeModel = std::function<std::unique_ptr<TrainingModel>()>;

class Training {
 public:
  explicit Training(const MakeModel& make) : model_(make()) {
    for (const Tensor& p : model_->parameters()) momentum_.push_back(zeros_like(p));
  }
  Tensor step() {
    for (const Tensor& p : model_->parameters()) autograd::set_grad(p, Tensor());
    const Tensor loss = model_->loss();
    autograd::backward({loss});
    std::vector<Tensor> grads;
    for (const Tensor& p : model_->parameters()) grads.push_back(autograd::grad(p));
    const GradMode off(false);
    _fused_sgd_(model_->parameters(), grads, momentum_, 0, 0.9, 0.01, 0, false, false, first_);
    first_ = false;
    return loss.detach();
  }

 private:
  std::unique_ptr<TrainingModel> model_;
  std::vector<Tensor> momentum_;
  bool first_ = true;
};

class TrainingWork final : public Work {
 public:
  explicit TrainingWork(MakeModel make) : make_(std::move(make)), training_(make_) {}
  void run(int64_t calls) override {
    for (int64_t i = 0; i < calls; ++i) training_.step();
  }
  // The losses of the first steps of a fresh network.
  Tensor result() override {
    Training fresh(make_);
    std::vector<Tensor> losses;
    for (int i = 0; i < 5; ++i) losses.push_back(fresh.step());
    return stack(losses);
  }

 private:
  MakeModel make_;
  Training training_;
};

Row row(std::string name, MakeModel make) {
  return {"train " + std::move(name),
          [make]() -> std::unique_ptr<Work> { return std::make_unique<TrainingWork>(make); }};
}

}  // namespace

std::vector<Row> training_rows() {
  return {row("cnn", [] { return small_cnn(MemoryFormat::contiguous); }),
          row("cnn channels_last", [] { return small_cnn(MemoryFormat::channels_last); })};
}

}  // namespace sconce::bench
