#include "bench/rows/training.h"

#include <cmath>

#include "bench/rows/inputs.h"
#include "sconce/autograd/backward.h"
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

Tensor TrainingModel::values(IntList sizes) const {
  int64_t inputs = 1;
  for (size_t i = 1; i < sizes.size(); ++i) inputs *= sizes[i];
  const auto bound = static_cast<float>(1 / std::sqrt(static_cast<double>(inputs)));
  return uniform(sizes, static_cast<uint32_t>(parameters_.size()) + 1, -bound, bound);
}

Tensor TrainingModel::weight(IntList sizes, MemoryFormat format) { return add(values(sizes).contiguous(format)); }

void TrainingModel::adopt(const Tensor& t, bool is_bias) {
  {
    const GradMode off(false);
    if (is_bias)
      t.zero_();
    else if (t.dim() > 1)
      t.copy_(values(t.sizes()));
  }
  add(t);
}

Tensor TrainingModel::constant(IntList sizes, double value) { return add(full(sizes, value)); }

namespace {

using MakeModel = std::function<std::unique_ptr<TrainingModel>()>;

enum class Optimizer { sgd, adamw };

class Training {
 public:
  Training(const MakeModel& make, Optimizer optimizer) : model_(make()), optimizer_(optimizer) {
    const GradMode off(false);
    for (const Tensor& p : model_->parameters()) {
      average_.push_back(zeros_like(p));
      if (optimizer == Optimizer::sgd) continue;
      squares_.push_back(zeros_like(p));
      steps_.push_back(zeros({}));
    }
  }
  Tensor step() {
    for (const Tensor& p : model_->parameters()) autograd::set_grad(p, Tensor());
    const Tensor loss = model_->loss();
    autograd::backward({loss});
    std::vector<Tensor> grads;
    for (const Tensor& p : model_->parameters()) grads.push_back(autograd::grad(p));
    const GradMode off(false);
    if (optimizer_ == Optimizer::sgd) {
      _fused_sgd_(model_->parameters(), grads, average_, 0, 0.9, 0.01, 0, false, false, first_);
    } else {
      for (const Tensor& step : steps_) step.add_(1);
      _fused_adamw_(model_->parameters(), grads, average_, squares_, {}, steps_, 1e-3, 0.9, 0.999, 0.01, 1e-8, false,
                    false);
    }
    first_ = false;
    return loss.detach();
  }

 private:
  std::unique_ptr<TrainingModel> model_;
  Optimizer optimizer_;
  std::vector<Tensor> average_, squares_, steps_;
  bool first_ = true;
};

class TrainingWork final : public Work {
 public:
  TrainingWork(MakeModel make, Optimizer optimizer, int compared)
      : make_(std::move(make)), optimizer_(optimizer), compared_(compared), training_(make_, optimizer) {}
  void run(int64_t calls) override {
    for (int64_t i = 0; i < calls; ++i) training_.step();
  }
  // The losses of the first steps of a fresh network.
  Tensor result() override {
    Training fresh(make_, optimizer_);
    std::vector<Tensor> losses;
    for (int i = 0; i < compared_; ++i) losses.push_back(fresh.step());
    return stack(losses);
  }

 private:
  MakeModel make_;
  Optimizer optimizer_;
  int compared_;
  Training training_;
};

// `compared`: steps whose losses are compared. A sum that is zero but for rounding passes relu or does not, which
// changes the gradients of a deep network by a percent: there only the first.
Row row(std::string name, MakeModel make, Optimizer optimizer = Optimizer::sgd, int compared = 5) {
  return {"train " + std::move(name),
          [=]() -> std::unique_ptr<Work> { return std::make_unique<TrainingWork>(make, optimizer, compared); }};
}

}  // namespace

std::vector<Row> training_rows(const std::string& folder) {
  const std::string text = folder + "/sequences.py";
  const auto sequence_row = [&](std::string name, auto make) {
    return row(std::move(name), [=] { return make(text); }, Optimizer::adamw);
  };
  return {
      row("cnn", [] { return small_cnn(MemoryFormat::contiguous); }),
      row("cnn channels_last", [] { return small_cnn(MemoryFormat::channels_last); }),
      row("resnet18", resnet18, Optimizer::sgd, 1),
      sequence_row("transformer", [](const std::string& path) { return transformer(path, false, 0); }),
      sequence_row("transformer dropout", [](const std::string& path) { return transformer(path, false, 0.1); }),
      sequence_row("transformer causal", [](const std::string& path) { return transformer(path, true, 0); }),
      sequence_row("transformer causal dropout", [](const std::string& path) { return transformer(path, true, 0.1); }),
      sequence_row("lstm", lstm_model)};
}

}  // namespace sconce::bench
