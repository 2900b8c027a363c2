// Plans of functions that write to their arguments and to attributes.
#include "sconce/executor/write_back.h"

#include "sconce/api/jit.h"
#include "sconce/executor/function_plans.h"
#include "sconce/ops.h"
#include "sconce/tensor/grad_mode.h"
#include "sconce/testing/error_of.h"

#include <gtest/gtest.h>

namespace sconce::executor {
namespace {

// Calls without plans.
template <class F>
auto interpreted(F&& f) {
  set_plans_enabled(false);
  auto result = f();
  set_plans_enabled(true);
  return result;
}

uint64_t runs_of(ir::Function& f) {
  uint64_t all = 0;
  for (const PlanText& plan : plans_of(f)) all += plan.runs;
  return all;
}

std::string why_not(ir::Function& f) {
  std::string why;
  plans_of(f, &why);
  return why;
}

constexpr const char* kCounter = R"(
class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros(1))
        self.register_buffer("mean", torch.zeros(6))
        self.lin = nn.Linear(6, 6)

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        self.mean.mul_(0.9).add_(x.mean(0), alpha=0.1)
        y = torch.relu(self.lin(x - self.mean))
        x[0].neg_()
        return y * self.calls + torch.silu(x)

    @torch.jit.export
    def parity(self, x: Tensor) -> Tensor:
        self.calls += 1
        if bool(self.calls > 4):
            return x
        return -x
)";

TEST(WriteBack, AttributesAndArgumentsAreWhatTheInterpreterMakesThem) {
  const NoGrad without_gradients;
  auto unit = jit::compile(kCounter);
  const jit::Module planned = unit.module("Counter"), plain = unit.module("Counter");
  plain.load_state_dict(planned.state_dict());
  Tensor x = randn({3, 6}), y = clone(x);
  for (int i = 0; i < 6; ++i) {
    const auto version = x.version();
    const Tensor got = planned(x).to_tensor(), expected = interpreted([&] { return plain(y).to_tensor(); });
    EXPECT_TRUE(equal(got, expected)) << i;
    EXPECT_TRUE(equal(x, y)) << i;
    EXPECT_GT(x.version(), version) << i;
    const jit::NamedTensors state = planned.state_dict(), other = plain.state_dict();
    for (size_t k = 0; k < state.size(); ++k) EXPECT_TRUE(equal(state[k].second, other[k].second)) << state[k].first;
  }
  EXPECT_EQ(runs_of(planned.get_method("forward").function()), 4u);
}

TEST(WriteBack, WhatIsWrittenDecidesNothing) {
  const NoGrad without_gradients;
  auto unit = jit::compile(kCounter);
  const jit::Module module = unit.module("Counter");
  const Tensor x = ones({2});
  for (int i = 1; i < 8; ++i) EXPECT_TRUE(equal(module.get_method("parity")(x).to_tensor(), i > 4 ? x : neg(x))) << i;
  EXPECT_EQ(runs_of(module.get_method("parity").function()), 0u);
}

struct Functions {
  jit::CompilationUnit unit = jit::compile(R"(
def grow(x: Tensor, y: Tensor):
    x.add_(1)
    return x * y
def itself(x: Tensor):
    x.mul_(2)
    return x
def part(x: Tensor):
    x[1:3].fill_(5)
    return x[2]
def fails(x: Tensor, table: Tensor, i: Tensor):
    x.add_(1)
    return torch.embedding(table, i) * x
def large(x: Tensor):
    x[0].add_(1)
    return x.sum()
)");
  ir::Function& code(const char* name) { return unit.function(name).function(); }
};

TEST(WriteBack, TensorsThatShareMemoryGoToTheInterpreter) {
  Functions f;
  const jit::Function grow = f.unit.function("grow");
  for (int i = 0; i < 4; ++i) grow(ones({4}), ones({4}));
  ASSERT_GT(runs_of(f.code("grow")), 0u);
  const Tensor x = ones({4});
  EXPECT_TRUE(equal(grow(x, view(x, {4})).to_tensor(), full({4}, 4.0)));
  const auto overlapping = [&] {
    const Tensor both = ones({8});
    const Tensor out = grow(slice(both, 0, 0, 4), slice(both, 0, 2, 6)).to_tensor();
    return cat({both, out});
  };
  const Tensor expected = interpreted(overlapping);
  EXPECT_TRUE(equal(overlapping(), expected));
}

TEST(WriteBack, ATensorThatIsReturnedIsTheOneThatWasGiven) {
  Functions f;
  const jit::Function itself = f.unit.function("itself");
  const Tensor x = ones({4});
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(itself(x).to_tensor().is_same(x));
  EXPECT_TRUE(equal(x, full({4}, 32.0)));
  EXPECT_EQ(runs_of(f.code("itself")), 3u);
}

TEST(WriteBack, ViewsOfWhatIsWrittenAreMadeByTheInterpreter) {
  Functions f;
  const jit::Function part = f.unit.function("part");
  const Tensor x = ones({4, 2});
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(part(x).to_tensor().data() == select(x, 0, 2).data());
  EXPECT_EQ(why_not(f.code("part")), "writes to a tensor that it was given");
}

TEST(WriteBack, AStepThatFailsHasWrittenNothing) {
  Functions f;
  const jit::Function fails = f.unit.function("fails");
  const Tensor x = zeros({2}), table = ones({3, 2}), good = ones({1}, DType::int64), bad = full({1}, int64_t{7});
  for (int i = 0; i < 4; ++i) fails(x, table, good);
  ASSERT_GT(runs_of(f.code("fails")), 0u);
  EXPECT_THROW(fails(x, table, bad), Error);
  EXPECT_TRUE(equal(x, full({2}, 5.0)));  // by the interpreter, once
}

TEST(WriteBack, PartsOfLargeTensorsAreWrittenByTheInterpreter) {
  Functions f;
  const jit::Function large = f.unit.function("large");
  const Tensor x = zeros({512, 512});
  for (int i = 0; i < 4; ++i) large(x);
  EXPECT_EQ(why_not(f.code("large")), "writes to a part of a large tensor that it was given");
  EXPECT_TRUE(equal(large(x).to_tensor(), full({}, 5 * 512.0)));
}

}  // namespace
}  // namespace sconce::executor
