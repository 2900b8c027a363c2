// Rates that PyTorch 2.13 gives. What conformance/optim has is not repeated here.
#include "sconce/optim/schedulers.h"

#include <gtest/gtest.h>

#include "sconce/autograd/variable.h"
#include "sconce/ops.h"
#include "sconce/optim/optimizers.h"
#include "sconce/testing/error_of.h"

namespace sconce::optim {
namespace {

ParamGroups one_parameter() {
  const Tensor t = zeros(IntList{1});
  autograd::set_requires_grad(t, true);
  return ParamGroups(std::vector<Tensor>{t});
}

struct Fixture {
  SGD sgd{one_parameter(), {{"lr", 0.5}, {"momentum", 0.9}}};
  void expect(LRScheduler& scheduler, const std::vector<double>& rates) {
    for (size_t i = 0; i < rates.size(); ++i) {
      EXPECT_DOUBLE_EQ(sgd.lr(), rates[i]) << "after " << i << " steps";
      sgd.step();
      scheduler.step();
    }
  }
};

TEST(Schedulers, functions_of_the_epoch) {
  Fixture a, b;
  LambdaLR lambda(a.sgd, [](int64_t epoch) { return std::pow(0.9, epoch); });
  a.expect(lambda, {0.5, 0.45, 0.405, 0.36450000000000005, 0.32805});
  MultiplicativeLR multiplied(b.sgd, [](int64_t) { return 0.9; });
  b.expect(multiplied, {0.5, 0.45, 0.405, 0.36450000000000005, 0.32805000000000006});
}

TEST(Schedulers, one_after_the_other_and_together) {
  Fixture a, b;
  ConstantLR warm_up(a.sgd, 0.1, 3);
  ExponentialLR decay(a.sgd, 0.9);
  SequentialLR sequence(a.sgd, {&warm_up, &decay}, {3});
  a.expect(sequence, {0.05, 0.05, 0.05, 0.5, 0.45, 0.405, 0.36450000000000005});
  ConstantLR constant(b.sgd, 0.1, 3);
  ExponentialLR exponential(b.sgd, 0.9);
  ChainedScheduler chain({&constant, &exponential});
  b.expect(chain, {0.05, 0.045000000000000005, 0.04050000000000001, 0.3645000000000001, 0.3280500000000001});
}

TEST(Schedulers, a_plateau_of_the_metric) {
  Fixture f;
  ReduceLROnPlateau plateau(f.sgd, {{"patience", 1}, {"factor", 0.5}, {"cooldown", 1}});
  const double metrics[] = {1, .9, .9, .9, .9, .9, .9, .9, .2, .2};
  const double rates[] = {0.5, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.125, 0.125, 0.125};
  for (size_t i = 0; i < 10; ++i) {
    EXPECT_EQ(f.sgd.lr(), rates[i]);
    plateau.step(metrics[i]);
  }
  EXPECT_ERROR(plateau.step(), "missing 1 required positional argument: 'metrics'");
}

TEST(Schedulers, cycles) {
  const auto cycle = [](const char* mode, const std::vector<double>& rates, double momentum) {
    Fixture f;
    CyclicLR cyclic(f.sgd, {{"base_lr", 0.1},
                            {"max_lr", 1.0},
                            {"step_size_up", 2},
                            {"step_size_down", 3},
                            {"mode", mode},
                            {"gamma", 0.9}});
    f.expect(cyclic, rates);
    EXPECT_DOUBLE_EQ(f.sgd.param_groups()[0].options.number("momentum"), momentum);
  };
  cycle("triangular",
        {0.1, 0.5499999999999999, 0.9999999999999998, 0.6999999999999998, 0.3999999999999999, 0.1, 0.5500000000000004,
         0.9999999999999998, 0.6999999999999998, 0.40000000000000024, 0.1},
        0.85);
  cycle("triangular2",
        {0.1, 0.5499999999999999, 0.9999999999999998, 0.6999999999999998, 0.3999999999999999, 0.1, 0.3250000000000002,
         0.5499999999999999, 0.3999999999999999, 0.2500000000000001, 0.1},
        0.8875000000000001);
  cycle("exp_range",
        {0.1, 0.5049999999999999, 0.8289999999999998, 0.5374, 0.2968299999999999, 0.1, 0.33914845000000027, 0.53046721,
         0.35828032600000004, 0.21622614670000012, 0.1},
        0.8843094701955);
}

TEST(Schedulers, one_cycle_of_three_phases_turns_beta1) {
  AdamW adamw(one_parameter());
  OneCycleLR one(adamw, {{"max_lr", 1.0}, {"total_steps", 9}, {"three_phase", true}, {"anneal_strategy", "linear"}});
  const double rates[] = {0.04,
                          0.6047058823529413,
                          0.8305882352941175,
                          0.26588235294117624,
                          0.03478313043478261,
                          0.026088347826086954,
                          0.0173935652173913,
                          0.008698782608695652,
                          3.9999999999970615e-06};
  for (const double rate : rates) {
    EXPECT_DOUBLE_EQ(adamw.lr(), rate);
    one.step();
  }
  EXPECT_EQ(adamw.param_groups()[0].options.pair("betas"), std::pair(0.95, 0.999));
  EXPECT_ERROR(one.step(), "Tried to step 10 times. The specified number of total steps is 9");
}

TEST(Schedulers, epochs_by_number) {
  Fixture f;
  CosineAnnealingWarmRestarts warm(f.sgd, 2, 2);
  const double epochs[] = {0, 0.5, 1.5, 3.25, 7, 13};
  const double rates[] = {
      0.5, 0.42677669529663687, 0.07322330470336313, 0.38889255825490054, 0.4809698831278217, 0.019030116872178315};
  for (size_t i = 0; i < 6; ++i) {
    warm.step(epochs[i]);
    EXPECT_DOUBLE_EQ(f.sgd.lr(), rates[i]);
  }
  const auto at_4 = [](const char* name, const Options& options) {
    Fixture g;
    const auto scheduler = make_scheduler(name, g.sgd, options);
    scheduler->step(4);
    return g.sgd.lr();
  };
  EXPECT_DOUBLE_EQ(at_4("StepLR", {{"step_size", 3}}), 0.05);
  EXPECT_DOUBLE_EQ(at_4("MultiStepLR", {{"milestones", IntList{2, 2, 5}}}), 0.005000000000000001);
  EXPECT_DOUBLE_EQ(at_4("ConstantLR", {}), 0.16666666666666666);
  EXPECT_DOUBLE_EQ(at_4("LinearLR", {}), 0.43333333333333335);
  EXPECT_DOUBLE_EQ(at_4("ExponentialLR", {{"gamma", 0.9}}), 0.32805);
  EXPECT_DOUBLE_EQ(at_4("PolynomialLR", {{"power", 2.0}}), 0.01999999999999999);
  EXPECT_DOUBLE_EQ(at_4("CosineAnnealingLR", {{"T_max", 6}, {"eta_min", 0.1}}), 0.20000000000000007);
}

// A schedule that was saved and loaded goes on as if nothing had been.
TEST(Schedulers, states_are_taken_over) {
  const std::pair<const char*, Options> kinds[] = {
      {"StepLR", {{"step_size", 3}}},
      {"MultiStepLR", {{"milestones", IntList{2, 5}}}},
      {"CosineAnnealingLR", {{"T_max", 6}}},
      {"CosineAnnealingWarmRestarts", {{"T_0", 3}, {"T_mult", 2}}},
      {"CyclicLR", {{"base_lr", 0.1}, {"max_lr", 1.0}, {"step_size_up", 2}}},
      {"OneCycleLR", {{"max_lr", 1.0}, {"total_steps", 20}}}};
  for (const auto& [name, options] : kinds) {
    Fixture f, g;
    const auto first = make_scheduler(name, f.sgd, options), second = make_scheduler(name, g.sgd, options);
    for (int i = 0; i < 4; ++i) first->step();
    second->load_state_dict(first->state_dict());
    g.sgd.load_state_dict(f.sgd.state_dict());
    for (int i = 0; i < 5; ++i) {
      first->step();
      second->step();
      EXPECT_EQ(f.sgd.lr(), g.sgd.lr()) << name;
    }
  }
}

TEST(Schedulers, refuses_what_pytorch_refuses) {
  Fixture f;
  EXPECT_ERROR(ConstantLR(f.sgd, 2), "Constant multiplicative factor expected to be between 0 and 1.");
  EXPECT_ERROR(LinearLR(f.sgd, 0), "Starting multiplicative factor expected to be greater than 0");
  EXPECT_ERROR(OneCycleLR(f.sgd, {{"max_lr", 1}}),
               "You must define either total_steps OR (epochs AND steps_per_epoch)");
  EXPECT_ERROR(ReduceLROnPlateau(f.sgd, {{"factor", 1}}), "Factor should be < 1.0.");
  EXPECT_ERROR(ReduceLROnPlateau(f.sgd, {{"mode", "mid"}}), "mode mid is unknown!");
  EXPECT_ERROR(CosineAnnealingWarmRestarts(f.sgd, 0), "Expected positive integer T_0, but got 0");
  EXPECT_ERROR(make_scheduler("StepLR", f.sgd, {}), "missing 1 required positional argument: 'step_size'");
  SGD fresh(one_parameter());
  EXPECT_ERROR(StepLR(fresh, 1, 0.1, 3), "param 'initial_lr' is not specified in param_groups[0]");
  ReduceLROnPlateau plateau(f.sgd);
  EXPECT_ERROR(ChainedScheduler({&plateau}), "does not support `ReduceLROnPlateau`");
}

}  // namespace
}  // namespace sconce::optim
