// Plans of modules: what they see, what they give, what they raise.
#include <malloc.h>

#include <atomic>
#include <thread>

#include "sconce/api/compile/inference.h"
#include "sconce/api/jit.h"
#include "sconce/autograd/variable.h"
#include "sconce/base/parallel.h"
#include "sconce/dispatch/budget/budget_scope.h"
#include "sconce/executor/execution_plan.h"
#include "sconce/executor/function_plans.h"
#include "sconce/executor/guards.h"
#include "sconce/executor/plan_steps.h"
#include "sconce/kernels/cpu/gemm/packed_weights.h"
#include "sconce/ops.h"
#include "sconce/tensor/generator.h"
#include "sconce/tensor/grad_mode.h"
#include "sconce/testing/compiled/planned_calls.h"
#include "sconce/testing/error_of.h"
#include "sconce/testing/source_tree.h"
#include "sconce/types/class_info.h"

#include <gtest/gtest.h>

namespace sconce::executor {
namespace {

using testing::compare_same_bits;

constexpr const char* kNet = R"(
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(6, 8)
        self.b = nn.Linear(8, 6)
        self.times = 2

    def forward(self, x):
        for _ in range(self.times):
            x = x + self.b(torch.relu(self.a(x)))
        return x
)";

struct Net {
  jit::CompilationUnit unit = jit::compile(kNet);
  jit::Module module = unit.module("Net");
  Tensor x = ones({3, 6});

  // The same call by the interpreter, and whether a plan ran ours.
  Tensor interpreted() const {
    set_plans_enabled(false);
    Tensor out = module(x).to_tensor();
    set_plans_enabled(true);
    return out;
  }
  Tensor call() const { return module(x).to_tensor(); }
  void warm_up() const {
    for (int i = 0; i < 3; ++i) call();
  }
  uint64_t runs() const {
    uint64_t all = 0;
    for (const PlanText& plan : plans_of(module.get_method("forward").function())) all += plan.runs;
    return all;
  }
};

TEST(Plans, TellTheTimeOfTheirSteps) {
  const NoGrad without_gradients;
  const Net net;
  net.warm_up();
  const auto steps = [&] { return plans_of(net.module.get_method("forward").function()).at(0).list; };
  ASSERT_EQ(steps().size(), 4u);
  for (const StepText& step : steps()) EXPECT_EQ(step.seconds, -1) << step.text;
  {
    const StepTiming timing;
    net.call();
  }
  for (const StepText& step : steps()) {
    EXPECT_GE(step.seconds, 0) << step.text;
    EXPECT_EQ(step.work, 3 * 6 * 8) << step.text;
  }
}

TEST(Guards, SayWhichOneFailed) {
  const Net net;
  Object& object = net.module.value().to_object();
  Guards guards;
  for (size_t slot = 0; slot < object.type()->class_info()->attributes.size(); ++slot) {
    EXPECT_TRUE(guards.add(object, slot));
  }
  EXPECT_TRUE(guards.hold());
  EXPECT_EQ(guards.failed(), "");
  EXPECT_NE(guards.text().find("attribute 'times' of Net is 2\n"), std::string::npos) << guards.text();
  object.set_attr("times", 3);
  EXPECT_FALSE(guards.hold());
  EXPECT_EQ(guards.failed(), "attribute 'times' of Net: was 2, is 3");
  object.set_attr("times", 2);
  object.set_attr("training", false);
  EXPECT_EQ(guards.failed(), "attribute 'training' of Net: was True, is False");
}

TEST(PlanListings, TellStepsNestsAndCalls) {
  const NoGrad without_gradients;
  const Net net;
  ir::Function& forward = net.module.get_method("forward").function();
  const PlanListing plan = list_plan(forward, {net.module.value(), Value(net.x)});
  EXPECT_EQ(plan.why, "");
  ASSERT_FALSE(plan.steps.empty());
  size_t calls = 0;
  for (const PlanStep& step : plan.steps) calls += step.sites.size();
  EXPECT_GE(calls, 8u);  // two turns of two products, relu and a sum
  EXPECT_GT(plan.guards, 0u);
  EXPECT_TRUE(plans_of(forward).empty()) << "the plan is not kept";
  const PlanListing none =
      list_plan(jit::compile("def f(x):\n    return x.nonzero()\n").function("f").function(), {Value(net.x)});
  EXPECT_TRUE(none.steps.empty());
  EXPECT_EQ(none.why, "aten::nonzero reads elements, or does not know Meta tensors");
}

TEST(Plans, RunFromTheThirdCallOn) {
  const NoGrad without_gradients;
  const Net net;
  net.warm_up();
  EXPECT_EQ(net.runs(), 1u);
  net.call();
  EXPECT_EQ(net.runs(), 2u);
  EXPECT_FALSE(compare_same_bits(net.call(), net.interpreted()));
}

TEST(Plans, SeeWhatChangesInAModule) {
  const NoGrad without_gradients;
  const Net net;
  const auto agrees = [&] { return !compare_same_bits(net.call(), net.interpreted()).has_value(); };
  const Tensor weight = net.module.attr("a").to_object().attr("weight").to_tensor();
  net.warm_up();
  add_(weight, 1);  // written in place
  EXPECT_TRUE(agrees());
  net.warm_up();
  EXPECT_TRUE(agrees());
  add_(data(weight), 1);  // by a tensor that counts its versions apart
  EXPECT_TRUE(agrees());
  net.warm_up();
  EXPECT_TRUE(agrees());
  net.module.attr("a").to_object().set_attr("weight", Value(ones({8, 6})));  // replaced
  EXPECT_TRUE(agrees());
  net.warm_up();
  net.module.value().to_object().set_attr("times", Value(int64_t{3}));  // a number that decides a loop
  EXPECT_TRUE(agrees());
  net.warm_up();
  EXPECT_TRUE(agrees());
}

TEST(Plans, SeeWritesToInferenceTensors) {
  const InferenceMode inference;
  const Net net;
  net.warm_up();
  add_(net.module.attr("a").to_object().attr("weight").to_tensor(), 1);
  EXPECT_FALSE(compare_same_bits(net.call(), net.interpreted()));
}

TEST(Plans, GiveResultsThatBelongToTheCaller) {
  const NoGrad without_gradients;
  const Net net;
  net.warm_up();
  const Tensor first = net.call(), kept = clone(first);
  mul_(net.call(), 0);
  const Tensor second = net.call();
  EXPECT_NE(first.data(), second.data());
  EXPECT_FALSE(compare_same_bits(first, kept));
  EXPECT_FALSE(compare_same_bits(second, kept));
}

TEST(Plans, AreForOneSignatureEach) {
  const NoGrad without_gradients;
  Net net;
  for (const int64_t rows : {1, 2, 5, 1, 2, 5}) {
    net.x = ones({rows, 6});
    net.warm_up();
    EXPECT_FALSE(compare_same_bits(net.call(), net.interpreted()));
  }
  EXPECT_EQ(plans_of(net.module.get_method("forward").function()).size(), 3u);
}

TEST(Plans, KeepOnlySome) {
  const NoGrad without_gradients;
  Net net;
  for (int64_t rows = 1; rows <= 140; ++rows) {
    net.x = ones({rows, 6});
    net.warm_up();
  }
  EXPECT_EQ(plans_of(net.module.get_method("forward").function()).size(), 128u);
  const uint64_t runs = net.runs();
  net.x = ones({13, 6});  // the first that is still there
  net.call();
  EXPECT_EQ(net.runs(), runs + 1);
}

TEST(Plans, AreNotMadeForSizesThatNeverComeAgain) {
  const NoGrad without_gradients;
  Net net;
  for (int64_t rows = 1; rows <= 400; ++rows) {
    net.x = ones({rows, 6});
    for (int i = 0; i < 2; ++i) net.call();
  }
  net.x = ones({500, 6});
  net.warm_up();
  EXPECT_EQ(net.runs(), 0u);
  net.x = ones({190, 6});  // made before it was clear, and kept
  net.call();
  EXPECT_EQ(net.runs(), 1u);
}

TEST(Plans, RecordNoGradients) {
  const Net net;
  net.module.requires_grad_();
  net.warm_up();
  EXPECT_EQ(net.runs(), 0u);
  EXPECT_TRUE(net.call().requires_grad());
}

TEST(Plans, AreNotForGradientsThatAreWantedLater) {
  Net net;
  net.module.requires_grad_(false);
  net.warm_up();
  EXPECT_EQ(net.runs(), 1u);
  net.x = clone(net.x);
  autograd::set_requires_grad(net.x, true);
  EXPECT_TRUE(net.call().requires_grad());
  net.x = detach(net.x);
  for (int i = 0; i < 40 && net.runs() < 2; ++i) net.call();
  EXPECT_EQ(net.runs(), 2u);
  net.module.requires_grad_();
  EXPECT_TRUE(net.call().requires_grad());
}

TEST(Plans, CanBeCancelled) {
  const NoGrad without_gradients;
  const Net net;
  const auto budget = std::make_shared<Budget>(Limits{});
  const ActiveBudget active(budget.get());
  net.warm_up();
  EXPECT_EQ(net.runs(), 1u);
  budget->cancel();
  EXPECT_THROW(net.call(), Error);
}

TEST(Plans, AreNotForBudgetsThatCount) {
  const NoGrad without_gradients;
  const Net net;
  net.warm_up();
  const auto budget = std::make_shared<Budget>(Limits{.memory = 1 << 30});
  const BudgetScope scope(budget);
  net.call();
  EXPECT_EQ(net.runs(), 1u);
}

// The checks of an exported program depend on sizes and numbers alone: a signature has them all.
TEST(Plans, RunExportedPrograms) {
  const NoGrad without_gradients;
  const jit::Module module = jit::load(testing::source_path("tests/conformance/formats/MLPdyn.pt2"));
  for (int i = 0; i < 3; ++i) module(ones({3, 4}));
  EXPECT_EQ(plans_of(module.get_method("forward").function()).at(0).runs, 1u);
  EXPECT_ERROR(module(ones({65, 4})), "input 'input': dimension 0 is 65, the program was exported for at most 64");
}

// A part that is called through an interface is compiled at its first call, in the middle of a recording: what its
// passes compute on Meta tensors is not recorded.
TEST(Plans, AreMadeWhileCalleesAreCompiled) {
  const NoGrad without_gradients;
  jit::CompilationUnit unit = jit::compile(R"(
@torch.jit.interface
class Part(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        pass

class One(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        for i in range(3):
            x = torch.relu(x) + torch.ones(3) * 2.0
        return x

class Net(nn.Module):
    part: Part
    def __init__(self):
        super().__init__()
        self.part = One()

    def forward(self, x: Tensor) -> Tensor:
        return self.part(x) * 2
)");
  const jit::Module module = unit.module("Net");
  const Tensor x = ones({3, 3});
  const jit::Compiled made = jit::compile(module, {Value(x)});
  EXPECT_TRUE(made.planned) << made.why;
  const Tensor planned = module(x).to_tensor();
  EXPECT_EQ(plans_of(module.get_method("forward").function()).at(0).runs, 1u);
  EXPECT_TRUE(equal(planned, full({3, 3}, 14.0)));
}

// 1,000 plans that are made and dropped leave nothing: neither memory of tensors nor of the C library.
TEST(Plans, LeaveNothingWhenTheyAreDropped) {
  const NoGrad without_gradients;
  const auto make_and_drop = [](int times) {
    for (int i = 0; i < times; ++i) {
      Net net;
      net.x = ones({1 + i % 7, 6});
      net.warm_up();
      ASSERT_EQ(net.runs(), 1u);
    }
  };
  make_and_drop(50);
  const size_t before = mallinfo2().uordblks;
  make_and_drop(1000);
  EXPECT_LT(static_cast<double>(mallinfo2().uordblks), static_cast<double>(before) + 20e3);
}

TEST(Plans, SeeElementsThatAreOnlyPrinted) {
  const NoGrad without_gradients;
  const jit::CompilationUnit unit = jit::compile("def f(x: Tensor) -> str:\n    return str(x + 1)\n");
  const jit::Function f = unit.function("f");
  for (int i = 0; i < 3; ++i) f(ones({1}));
  EXPECT_EQ(f(zeros({1})).to_string_ref(), " 1\n[ CPUFloatType{1} ]");
}

TEST(Plans, RaiseTheInterpretersErrors) {
  const NoGrad without_gradients;
  jit::CompilationUnit unit = jit::compile(R"(
def f(x: Tensor, i: Tensor) -> Tensor:
    y = torch.relu(x * 2)
    return torch.index_select(y, 0, i) + 1
)");
  const jit::Function f = unit.function("f");
  const Tensor x = ones({3, 2}), good = zeros({1}, DType::int64), bad = full({1}, 9, DType::int64);
  const auto message = [&](bool planned) {
    set_plans_enabled(planned);
    std::string text;
    try {
      f(x, bad);
    } catch (const Error& e) {
      text = e.what();
    }
    set_plans_enabled(true);
    return text;
  };
  for (int i = 0; i < 4; ++i) f(x, good);
  EXPECT_FALSE(message(true).empty());
  EXPECT_EQ(message(true), message(false));
  EXPECT_FALSE(compare_same_bits(f(x, good).to_tensor(), full({1, 2}, 3.0f)));
}

TEST(Plans, DrawTheNumbersOfTheInterpreter) {
  const NoGrad without_gradients;
  jit::CompilationUnit unit = jit::compile(R"(
def f(x: Tensor) -> Tensor:
    return F.dropout(x * 2, 0.5, True) + torch.rand(4)
)");
  const jit::Function f = unit.function("f");
  const auto draws = [&](bool planned) {
    set_plans_enabled(planned);
    manual_seed(5);
    std::vector<Tensor> all;
    for (int i = 0; i < 5; ++i) all.push_back(f(ones({4})).to_tensor());
    set_plans_enabled(true);
    return all;
  };
  const std::vector<Tensor> planned = draws(true), interpreted = draws(false);
  for (size_t i = 0; i < planned.size(); ++i) EXPECT_FALSE(compare_same_bits(planned[i], interpreted[i]));
}

TEST(Plans, AreSharedByThreads) {
  const Net net;
  Tensor expected;
  {
    const NoGrad without_gradients;
    expected = net.interpreted();
    net.warm_up();
  }
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      const NoGrad without_gradients;
      for (int k = 0; k < 200; ++k) wrong += compare_same_bits(net.call(), expected).has_value();
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Plans, LeaveToTheInterpreterWhatElementsDecide) {
  const NoGrad without_gradients;
  jit::CompilationUnit unit = jit::compile(R"(
def f(x: Tensor) -> Tensor:
    if bool(x.sum() > 0):
        return x + 1
    return x - 1
)");
  const jit::Function f = unit.function("f");
  for (int i = 0; i < 4; ++i) {
    EXPECT_FALSE(compare_same_bits(f(ones({2})).to_tensor(), full({2}, 2.0f)));
    EXPECT_FALSE(compare_same_bits(f(neg(ones({2}))).to_tensor(), full({2}, -2.0f)));
  }
  std::string why;
  EXPECT_TRUE(plans_of(f.function(), &why).empty());
  EXPECT_EQ(why, "aten::Bool.Tensor reads elements");
}

// Convolutions work channels last inside of plans: views, writes and results see what the program would see.
TEST(Plans, RearrangeImagesWhereSomebodyLooks) {
  jit::CompilationUnit unit = jit::compile(R"(
class Images(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Conv2d(3, 8, 3, padding=1)
        self.b = nn.Conv2d(8, 8, 1)
        self.c = nn.Conv2d(8, 8, 3, stride=2, padding=1, groups=8)
        self.norm = nn.BatchNorm2d(8)
        self.last = nn.Linear(8, 5)

    def forward(self, x, which: int):
        y = self.a(x)
        if which == 0:
            n, c, h, w = y.shape
            y = y.view(n, 2, 4, h, w).transpose(1, 2).reshape(n, c, h, w)
        if which == 1:
            p, q = y.chunk(2, 1)
            y = torch.cat([q, torch.relu(p)], 1)
        if which == 2:
            y.relu_()
            y[:, 0].add_(1)
        if which == 3:
            v = y.permute(0, 2, 3, 1)
            v.mul_(0.5)
            y = v.permute(0, 3, 1, 2) + y
        if which == 4:
            y = F.max_pool2d(F.pad(y, [1, 1, 1, 1]), 2) + y[:, :, ::2, ::2].sum()
        z = self.norm(self.b(y)) + y
        z = F.hardswish(self.c(torch.relu(z)))
        return self.last(z.mean((2, 3))), z, y, y[0]
)");
  const jit::Module module = unit.module("Images");
  module.eval();
  ir::Function& forward = module.get_method("forward").function();
  for (int64_t which = 0; which < 6; ++which) {
    for (const bool last : {false, true}) {
      const auto arguments = [&](const std::optional<Value>& self) {
        manual_seed(1);
        const Tensor x = randn({2, 3, 8, 8});
        return std::vector<Value>{*self, contiguous(x, last ? MemoryFormat::channels_last : MemoryFormat::contiguous),
                                  which};
      };
      const auto difference = testing::compare_planned_calls(forward, module.value(), arguments);
      EXPECT_FALSE(difference) << "way " << which << ": " << *difference;
    }
  }
}

// A convolution that cannot be prepared (its bias has gaps) is called, and lies as its operator leaves it.
TEST(Plans, CallConvolutionsWhoseBiasHasGaps) {
  jit::CompilationUnit unit = jit::compile(R"(
class Spread(nn.Module):
    def __init__(self):
        super().__init__()
        self.volume = torch.randn(2, 2, 2, 2, 2)
        self.plane = torch.randn(2, 2, 2, 2)
        self.register_buffer("bias", torch.ones(4)[::2])

    def forward(self, x):
        y = F.conv3d(x, self.volume, self.bias)
        z = F.conv_transpose3d(x, self.volume, self.bias, [1, 1, 1], [0, 0, 0], [0, 1, 0], 1, [1, 2, 1])
        return y, torch.relu(y) * 2, z, F.conv2d(x[0].transpose(0, 1), self.plane, self.bias), torch.relu(z).sum(1)
)");
  manual_seed(3);
  const jit::Module module = unit.module("Spread");
  ir::Function& forward = module.get_method("forward").function();
  for (const bool last : {false, true}) {
    const auto arguments = [&](const std::optional<Value>&) {  // a copy of the module would close the gaps
      manual_seed(1);
      const Tensor x = randn({2, 2, 3, 4, 5});
      return std::vector<Value>{module.value(), last ? contiguous(x, MemoryFormat::channels_last_3d) : x};
    };
    const auto difference = testing::compare_planned_calls(forward, std::nullopt, arguments);
    EXPECT_FALSE(difference) << *difference;
  }
}

// Batch norms behind products, convolutions of every algorithm and others: alone, with what follows them, and where
// somebody else reads what they read.
TEST(Plans, FoldBatchNormsIntoEpilogues) {
  jit::CompilationUnit unit = jit::compile(R"(
class Norms(nn.Module):
    def __init__(self):
        super().__init__()
        self.product = nn.Conv2d(16, 16, 1)
        self.direct = nn.Conv2d(16, 16, 3, stride=2, padding=1, bias=False)
        self.winograd = nn.Conv2d(16, 16, 3, padding=1, bias=False)
        self.depthwise = nn.Conv2d(16, 16, 5, padding=2, groups=16, bias=False)
        self.grouped = nn.Conv2d(16, 16, 3, padding=1, groups=4)
        self.ragged = nn.Conv2d(16, 13, 1)
        self.layer = nn.Linear(16, 16)
        self.register_buffer("mean", torch.randn(16))
        self.register_buffer("var", torch.rand(16) + 0.5)
        self.register_buffer("weight", torch.randn(16))
        self.register_buffer("bias", torch.randn(16))

    def norm(self, x):
        n = x.size(1)
        return F.batch_norm(x, self.mean[:n], self.var[:n], self.weight[:n], self.bias[:n])

    def tail(self, y, which: int):
        z = self.norm(y)
        if which == 1:
            z = torch.relu(z)
        if which == 2:
            z = torch.relu(z + y * 2)
        if which == 3:
            z = F.hardswish(z)
        if which == 4:
            z = z * torch.sigmoid(z)
        if which == 5:
            z = z + y
        if which == 6:
            z = torch.relu(torch.ones_like(y) + z)
        if which == 7:
            z = torch.relu(self.norm(z) + z)
        if which == 8:
            z = torch.addcmul(y, z, z)
        return z

    def forward(self, x, which: int):
        out = [self.tail(f, which) for f in
               [self.product(x), self.direct(x), self.winograd(x), self.depthwise(x), self.grouped(x), self.ragged(x)]]
        out.append(self.tail(self.layer(x[0, :, 0].t()), which))
        out.append(self.tail(self.layer(x[0, :, 0, :1].t()), which))
        return out
)");
  manual_seed(3);
  const jit::Module module = unit.module("Norms");
  module.eval();
  ir::Function& forward = module.get_method("forward").function();
  for (int64_t which = 0; which < 9; ++which) {
    const auto arguments = [&](const std::optional<Value>& self) {
      manual_seed(1);
      return std::vector<Value>{*self, randn({1, 16, 17, 16}), which};
    };
    const auto difference = testing::compare_planned_calls(forward, module.value(), arguments);
    EXPECT_FALSE(difference) << "way " << which << ": " << *difference;
  }
}

// Few rows read a weight as it is, many read it packed: both see that it is written.
// Sums and loops write over what dies in them. The names of values say how long each is wanted.
TEST(Plans, OverwriteWhatDies) {
  jit::CompilationUnit unit = jit::compile(R"(
class Blocks(nn.Module):
    def __init__(self):
        super().__init__()
        self.narrow = nn.Conv2d(64, 16, 1)
        self.middle = nn.Conv2d(16, 16, 3, padding=1)
        self.wide = nn.Conv2d(16, 64, 1)
        self.layer = nn.Linear(64, 64)

    def block(self, x):
        return torch.relu(self.wide(self.middle(self.narrow(x))) + x)

    def forward(self, x, which: int):
        x = torch.relu(x)
        if which == 0:
            for _ in range(4):
                x = self.block(x)
        if which == 1:
            for _ in range(3):
                y = self.block(x)
                x = y + x.transpose(2, 3)  # the residual is wanted again
        if which == 2:
            for _ in range(3):
                x = torch.sigmoid(x) * x.transpose(2, 3) + x
                x = torch.tanh(self.narrow(x)).sum(1, True) + x
        if which == 3:
            for _ in range(3):
                x = x + self.layer(torch.relu(x.flatten(2).transpose(1, 2) + 1).contiguous()).transpose(1, 2).reshape(x.size())
        if which == 4:
            for _ in range(3):
                y = self.block(x)
                x = self.block(y) + y
        return x * 2
)");
  manual_seed(3);
  const jit::Module module = unit.module("Blocks");
  module.eval();
  const NoGrad quiet;
  ir::Function& forward = module.get_method("forward").function();
  for (int64_t which = 0; which < 5; ++which) {
    const auto arguments = [&](const std::optional<Value>& self) {
      manual_seed(1);
      return std::vector<Value>{*self, randn({2, 64, 12, 12}), which};
    };
    const auto difference = testing::compare_planned_calls(forward, module.value(), arguments);
    EXPECT_FALSE(difference) << "way " << which << ": " << *difference;
  }
  // Two images of 64 channels are there where planes become channels, and at no other time: a sum lies where its
  // residual was.
  const PlanListing plan = list_plan(forward, {module.value(), randn({2, 64, 12, 12}), int64_t{0}});
  EXPECT_LE(plan.arena_bytes, size_t{2 * 4 * 2 * 64 * 12 * 12}) << plan.why;
}

TEST(Plans, PackLargeWeightsWhileTheyRun) {
  jit::CompilationUnit unit = jit::compile(R"(
class Large(nn.Module):
    def __init__(self):
        super().__init__()
        self.product = nn.Conv2d(128, 256, 1)
        self.direct = nn.Conv2d(256, 128, 3, stride=2, padding=1)
        self.winograd = nn.Conv2d(128, 128, 3, padding=1)
        self.layer = nn.Linear(128, 700)
        self.last = nn.Linear(700, 300)

    def forward(self, x):
        x = torch.relu(self.product(x))
        x = self.direct(x)
        x = torch.relu(self.winograd(x) + x)
        return self.last(torch.sigmoid(self.layer(x.flatten(2).transpose(1, 2))))
)");
  manual_seed(3);
  const jit::Module module = unit.module("Large");
  module.eval();
  const NoGrad quiet;
  const Tensor x = randn({1, 128, 26, 26});
  set_plans_enabled(false);
  const Tensor expected = module(x).to_tensor();
  set_plans_enabled(true);
  const auto packed = [&] {
    size_t count = 0;
    for (const Tensor& weight : module.parameters()) count += packed_forms_of(weight.storage()).size();
    return count;
  };
  for (int i = 0; i < 2; ++i) module(x);
  ASSERT_EQ(plans_of(module.get_method("forward").function()).size(), 1u);
  EXPECT_EQ(packed(), 0u);
  int calls = 0;
  while (packed() < 5 && ++calls < 1000) {
    const auto difference = compare_same_bits(module(x).to_tensor(), expected);
    ASSERT_FALSE(difference) << "call " << calls << ": " << *difference;
  }
  EXPECT_EQ(packed(), 5u);
  const auto difference = compare_same_bits(module(x).to_tensor(), expected);
  EXPECT_FALSE(difference) << *difference;
}

TEST(Plans, SeeThatWeightsAreWritten) {
  const NoGrad without_gradients;
  jit::CompilationUnit unit = jit::compile(R"(
class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(40, 24)

    def forward(self, x):
        return torch.relu(self.a(x)) + 1
)");
  const jit::Module module = unit.module("Layer");
  ir::Function& forward = module.get_method("forward").function();
  for (const int64_t rows : {1, 3, 20}) {
    const Tensor x = ones({rows, 40});
    for (int i = 0; i < 8; ++i) {
      const Tensor got = module(x).to_tensor();
      set_plans_enabled(false);
      EXPECT_FALSE(compare_same_bits(got, module(x).to_tensor())) << rows << " rows, call " << i;
      set_plans_enabled(true);
      if (i == 4) mul_(module.attr("a").to_object().attr("weight").to_tensor(), 2);
    }
    uint64_t runs = 0;
    for (const PlanText& plan : plans_of(forward)) runs += plan.runs;
    EXPECT_GT(runs, 0u);
    drop_plans(forward);
  }
}

// Traces compute with sizes as tensors: what such elements decide is the same in every call of the plan.
TEST(Plans, FollowElementsThatSizesDecide) {
  const NoGrad without_gradients;
  jit::CompilationUnit unit = jit::compile(R"(
def f(x: Tensor) -> Tensor:
    half = int(torch.floor_divide(torch.tensor(x.size(0)), 2))
    return x[:half] + x[half:2 * half]

def g(x: Tensor) -> Tensor:
    n = torch.tensor(1)
    n.add_(x.sum().to(torch.int64))
    return x * int(n)
)");
  const jit::Function f = unit.function("f"), g = unit.function("g");
  for (int i = 0; i < 4; ++i) {
    EXPECT_FALSE(compare_same_bits(f(ones({6})).to_tensor(), full({3}, 2.0f)));
    EXPECT_FALSE(compare_same_bits(f(ones({4})).to_tensor(), full({2}, 2.0f)));
    EXPECT_FALSE(compare_same_bits(g(full({2}, static_cast<float>(i))).to_tensor(),
                                   full({2}, static_cast<float>(i * (1 + 2 * i)))));
  }
  EXPECT_EQ(plans_of(f.function()).size(), 2u);
  EXPECT_TRUE(plans_of(g.function()).empty());
}

// A number that a module keeps as a tensor may decide something, as long as nobody writes it.
TEST(Plans, FollowSmallConstantsUntilTheyAreWritten) {
  const NoGrad without_gradients;
  jit::CompilationUnit unit = jit::compile(R"(
class Times(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("n", torch.tensor(2))

    def forward(self, x):
        return x * int(self.n)
)");
  const jit::Module module = unit.module("Times");
  for (int i = 0; i < 4; ++i) EXPECT_FALSE(compare_same_bits(module(ones({3})).to_tensor(), full({3}, 2.0f)));
  EXPECT_EQ(plans_of(module.get_method("forward").function()).size(), 1u);
  add_(module.attr("n").to_tensor(), 1);
  for (int i = 0; i < 4; ++i) EXPECT_FALSE(compare_same_bits(module(ones({3})).to_tensor(), full({3}, 3.0f)));
}

TEST(Plans, DoNotKeepTheirModuleAlive) {
  const NoGrad without_gradients;
  Storage* storage = nullptr;
  uint32_t owners = 0;
  Tensor weight;
  {
    const Net net;
    net.warm_up();
    weight = net.module.attr("a").to_object().attr("weight").to_tensor();
    storage = weight.storage();
    owners = storage->count.owners();
  }
  EXPECT_GT(owners, 1u);  // the packed weights have it, too
  EXPECT_EQ(storage->count.owners(), 1u);
}

// Note [Threads of steps]: calls that try one thread and all, those behind the decision, and those that measure again
// give the same bits, for any number of threads.
TEST(Plans, DecideOnThreadsStepByStep) {
  const NoGrad without_gradients;
  const int before = num_threads();
  const Net net;
  const Tensor expected = net.interpreted();
  net.warm_up();
  const uint64_t runs = net.runs();
  int calls = 0;
  const auto call = [&](int count) {
    for (int i = 0; i < count; ++i, ++calls)
      EXPECT_FALSE(compare_same_bits(net.call(), expected)) << calls << ", " << num_threads() << " threads";
  };
  for (const int threads : {1, 2, 3, 4, 8}) {
    set_num_threads(threads);
    call(StepThreads::kCalls + 3);
  }
  set_num_threads(2);
  call(static_cast<int>(StepThreads::kKept));
  EXPECT_EQ(net.runs() - runs, static_cast<uint64_t>(calls));
  set_num_threads(before);
}

}  // namespace
}  // namespace sconce::executor
