// Half of optimizer_states.py: every optimiser and schedule, saved after some steps and taken further; and PyTorch's
// files taken over. Usage: sconce-optimizer-states write|read FOLDER
#include <cmath>
#include <cstdio>
#include <string>

#include "sconce/api/optim.h"
#include "sconce/serialization/tensors/tensor_files.h"

using namespace sconce;

namespace {

// A step of 4th powers from `target` down.
void step(optim::Optimizer& optimizer, const Tensor& p, const Tensor& target) {
  optimizer.step([&] {
    optimizer.zero_grad();
    const Tensor loss = (p - target).pow(4).sum();
    loss.backward();
    return loss;
  });
}

Value saved(const std::string& path) { return read_pickled(FileBytes::map(path)); }
Tensor array(const std::string& path) { return read_npy(FileBytes::map(path)); }

double check_optimizer(const std::string& base, const std::string& name, const optim::Options& options, bool writes) {
  const Tensor start = arange(7).to(DType::float32).sin(), target = start.mul(3).cos();
  const Tensor p = (writes ? start.clone() : array(base + ".torch.2.npy")).requires_grad_();
  const auto optimizer = optim::make_optimizer(name, std::vector<Tensor>{p}, options);
  if (!writes) optimizer->load_state_dict(saved(base + ".torch.pth"));
  step(*optimizer, p, target);
  step(*optimizer, p, target);
  if (!writes) return (p.detach() - array(base + ".torch.4.npy")).abs().max().item().to_double();
  write_pickled(base + ".pth", optimizer->state_dict());
  write_npy(base + ".2.npy", p.detach());
  step(*optimizer, p, target);
  step(*optimizer, p, target);
  write_npy(base + ".4.npy", p.detach());
  return 0;
}

double check_scheduler(const std::string& base, const std::string& name, const optim::Options& options, bool writes) {
  const Tensor p = zeros(IntList{1}).requires_grad_();
  optim::SGD sgd({p}, {{"lr", 0.5}, {"momentum", 0.9}});
  const auto scheduler = optim::make_scheduler(name, sgd, options);
  const auto steps = [&](int n) {
    for (int i = 0; i < n; ++i) name == "ReduceLROnPlateau" ? scheduler->step(1.0) : scheduler->step();
  };
  if (!writes) {
    sgd.load_state_dict(saved(base + ".torch.sgd.pth"));
    scheduler->load_state_dict(saved(base + ".torch.pth"));
    steps(3);
    return std::abs(sgd.lr() - array(base + ".torch.lr.npy").item().to_double());
  }
  steps(4);
  write_pickled(base + ".pth", scheduler->state_dict());
  write_pickled(base + ".sgd.pth", sgd.state_dict());
  steps(3);
  write_npy(base + ".lr.npy", full({}, sgd.lr(), DType::float64));
  return 0;
}

struct Case {
  std::string name;
  optim::Options options;
  bool is_scheduler = false;
};

// As in optimizer_states.py.
const Case kCases[] = {{"SGD", {{"lr", 0.1}, {"momentum", 0.9}}},
                       {"Adam", {{"lr", 0.1}, {"amsgrad", true}}},
                       {"AdamW", {{"lr", 0.1}}},
                       {"RMSprop", {{"lr", 0.1}, {"momentum", 0.9}, {"centered", true}}},
                       {"Adagrad", {{"lr", 0.1}}},
                       {"Adadelta", {{"lr", 0.1}}},
                       {"Adamax", {{"lr", 0.1}}},
                       {"NAdam", {{"lr", 0.1}}},
                       {"RAdam", {{"lr", 0.1}}},
                       {"Rprop", {{"lr", 0.1}}},
                       {"ASGD", {{"lr", 0.1}}},
                       {"LBFGS", {{"lr", 0.1}}},
                       {"StepLR", {{"step_size", 3}}, true},
                       {"MultiStepLR", {{"milestones", IntList{2, 5}}}, true},
                       {"ConstantLR", {}, true},
                       {"LinearLR", {}, true},
                       {"ExponentialLR", {{"gamma", 0.9}}, true},
                       {"PolynomialLR", {{"power", 2.0}, {"total_iters", 9}}, true},
                       {"CosineAnnealingLR", {{"T_max", 6}}, true},
                       {"CosineAnnealingWarmRestarts", {{"T_0", 3}, {"T_mult", 2}}, true},
                       {"OneCycleLR", {{"max_lr", 1.0}, {"total_steps", 20}}, true},
                       {"CyclicLR", {{"base_lr", 0.1}, {"max_lr", 1.0}, {"step_size_up", 2}}, true},
                       {"ReduceLROnPlateau", {{"patience", 1}}, true}};

}  // namespace

int main(int count, char** words) try {
  if (count != 3) return 2;
  const bool writes = std::string(words[1]) == "write";
  int failed = 0;
  for (const Case& c : kCases) {
    const auto check = c.is_scheduler ? check_scheduler : check_optimizer;
    const double gap = check(std::string(words[2]) + "/" + c.name, c.name, c.options, writes);
    if (gap > 1e-6) std::printf("%s from PyTorch: off by %g\n", c.name.c_str(), gap), ++failed;
  }
  return failed != 0;
} catch (const Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
