// Plans of tensors on a device: bits of the interpreter there, graphs, errors. On a GPU, or on the host's stand-in for
// one (tests/host_gpu).
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "sconce/api/jit.h"
#include "sconce/codegen/cuda/cuda_maker.h"
#include "sconce/connect/cuda/decomposed_kernels.h"
#include "sconce/executor/function_plans.h"
#include "sconce/executor/test_random_programs.h"
#include "sconce/frontend/script/program/program.h"
#include "sconce/kernels/cuda/cuda_backend.h"
#include "sconce/kernels/cuda/device/caching_allocator.h"
#include "sconce/kernels/cuda/device/context.h"
#include "sconce/kernels/cuda/device/nvrtc.h"
#include "sconce/ops.h"
#include "sconce/runtime/interpreter.h"
#include "sconce/tensor/generator.h"
#include "sconce/tensor/grad_mode.h"
#include "sconce/testing/compiled/planned_calls.h"
#include "sconce/testing/conformance/script_call.h"

namespace sconce::executor {
namespace {

constexpr Device kGpu{DeviceType::cuda, 0};

Tensor up(const Tensor& t) { return to(t, kGpu, t.dtype()); }
Tensor down(const Tensor& t) { return t.defined() ? to(t, Device(), t.dtype()) : t; }

Value down(const Value& v) {
  if (v.is_tensor()) return Value(down(v.to_tensor()));
  if (!v.is_tuple()) return v;
  std::vector<Value> items;
  for (const Value& item : v.to_tuple().items) items.push_back(down(item));
  return Value(make_ref<Tuple>(std::move(items), nullptr));
}

class CudaPlans : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = cuda::start(); !why.empty()) GTEST_SKIP() << "no CUDA device: " << why;
    if (!cuda::find_nvrtc()) GTEST_SKIP() << cuda::why_no_nvrtc();
    static const size_t decomposed = add_decomposed_kernels(DeviceType::cuda);
    static_cast<void>(decomposed);
    cuda::connect_maker();
  }
  void TearDown() override { set_plans_enabled(true); }
};

struct Outcome {
  Value result;
  std::string error;
};
Outcome call(ir::Function& f, std::vector<Value> args) {
  Outcome seen;
  try {
    seen.result = down(runtime::run(f, args));
  } catch (const std::exception& e) {
    seen.error = e.what();
  }
  return seen;
}

// Interpreted, then planned at once, and called as often as it takes to record a graph. The text of the plan.
PlanText compare(const std::string& source, const std::function<std::vector<Value>()>& arguments) {
  const NoGrad without_gradients;
  script::Program program(source);
  ir::Function& f = *program.find_function("f");
  set_plans_enabled(false);
  manual_seed(7);
  const Outcome expected = call(f, arguments());
  set_plans_enabled(true);
  PlanRequest request;
  for (int i = 0; i < 6; ++i) {
    std::optional<PlanNow> now;
    if (i == 0) now.emplace(request);
    manual_seed(7);
    const Outcome seen = call(f, arguments());
    EXPECT_EQ(seen.error, expected.error) << "call " << i;
    if (!seen.error.empty() || !expected.error.empty()) continue;
    const auto difference =
        sconce::testing::compare_nested(seen.result, expected.result, sconce::testing::compare_same_bits);
    EXPECT_FALSE(difference) << "call " << i << ": " << *difference;
  }
  if (!request.outcomes.empty()) {
    EXPECT_EQ(request.outcomes[0].why.find("error:"), std::string::npos) << request.outcomes[0].why;
  }
  std::string why;
  const std::vector<PlanText> plans = plans_of(f, &why);
  PlanText none;
  none.text = "none: " + why;
  return plans.empty() ? none : plans.back();
}

TEST_F(CudaPlans, PointwiseOperatorsAreOneKernel) {
  const Tensor p = up(randn({100, 33})), q = up(randn({33}));
  const PlanText plan = compare("def f(p: Tensor, q: Tensor):\n  return torch.relu(torch.sigmoid(p) * q + p)\n",
                                [&] { return std::vector<Value>{Value(p), Value(q)}; });
  EXPECT_EQ(plan.steps, 1u) << plan.text;
  EXPECT_EQ(plan.runs, 5u);
  EXPECT_TRUE(plan.text.starts_with("loops")) << plan.text;
}

TEST_F(CudaPlans, RowsTakeWhatIsAroundThem) {
  const Tensor x = up(randn({6, 130})), w = up(randn({130})), b = up(randn({130}));
  const auto arguments = [&] { return std::vector<Value>{Value(x), Value(w), Value(b)}; };
  const PlanText norm = compare(
      "def f(x: Tensor, w: Tensor, b: Tensor):\n"
      "  y = torch.layer_norm(x * 2 + 1, [130], w, b)\n"
      "  return torch.relu(y) + x\n",
      arguments);
  EXPECT_EQ(norm.steps, 1u) << norm.text;
  const PlanText softmax = compare(
      "def f(x: Tensor, w: Tensor, b: Tensor):\n"
      "  return (torch.softmax(x * 0.125 + w, -1) * b).to(torch.bfloat16)\n",
      arguments);
  EXPECT_EQ(softmax.steps, 1u) << softmax.text;
}

TEST_F(CudaPlans, RowsMayBeOne) {
  const Tensor x = up(randn({1, 96})), w = up(randn({96})), b = up(randn({96}));
  const PlanText plan =
      compare("def f(x: Tensor, w: Tensor, b: Tensor):\n  return torch.layer_norm(x * 2 + b, [96], w, b) * 2\n",
              [&] { return std::vector<Value>{Value(x), Value(w), Value(b)}; });
  EXPECT_EQ(plan.steps, 1u) << plan.text;
  EXPECT_EQ(plan.runs, 5u);
}

TEST_F(CudaPlans, ConcatenationsAreCopiesOfOneLaunch) {
  const Tensor x = up(randn({3, 5, 8})), y = up(randn({3, 2, 8}));
  const PlanText plan = compare(
      "def f(x: Tensor, y: Tensor):\n"
      "  a = torch.cat([x, y], 1)\n"
      "  b = torch.cat([y, x, y], -2)\n"
      "  c = torch.cat([a, b], 1)\n"
      "  return torch.relu(c) * 2, b, torch.cat([x.transpose(0, 2), x.transpose(0, 2)])\n",
      [&] { return std::vector<Value>{Value(x), Value(y)}; });
  EXPECT_EQ(plan.steps, 4u) << plan.text;
  EXPECT_EQ(plan.runs, 5u);
}

constexpr const char* kBlock =
    "def f(x: Tensor, w: Tensor, v: Tensor, b: Tensor):\n"
    "  h = torch.relu(x.matmul(w) + b)\n"
    "  s = torch.softmax(h.matmul(h.t()) * 0.3, -1)\n"
    "  y = (s.matmul(h)).matmul(v)\n"
    "  z = y.view(-1, 8).transpose(0, 1).contiguous()\n"
    "  z.add_(1.5)\n"
    "  return x + y, z, x\n";

TEST_F(CudaPlans, ProductsViewsAndWrites) {
  const Tensor x = up(randn({12, 16})), w = up(randn({16, 24})), v = up(randn({24, 16})), b = up(randn({24}));
  const PlanText plan = compare(kBlock, [&] { return std::vector<Value>{Value(x), Value(w), Value(v), Value(b)}; });
  EXPECT_GE(plan.steps, 5u) << plan.text;
  EXPECT_EQ(plan.runs, 5u) << plan.text;
}

constexpr const char* kLayers = R"(
class Layers(nn.Module):
  def __init__(self, width: int, count: int):
    super().__init__()
    self.first = nn.Linear(24, width)
    self.layers = nn.ModuleList([nn.Linear(width, width) for i in range(count)])
    self.last = nn.Linear(width, 12, bias=False)

  def forward(self, x: Tensor) -> Tensor:
    x = torch.relu(self.first(x))
    for layer in self.layers:
      x = torch.relu(layer(x)) * 0.7
    return torch.sigmoid(self.last(x)) + 1
)";

// The same bits from calls by a plan as from the interpreter; gives the plan.
PlanText compare_module(const jit::Module& module, DType dtype, const std::vector<int64_t>& sizes) {
  module.to(dtype);
  module.to(kGpu);
  ir::Function& f = module.method("forward").function();
  const auto run = [&] {
    manual_seed(3);
    return down(module(up(to(randn(sizes), dtype))));
  };
  set_plans_enabled(false);
  const Value expected = run();
  set_plans_enabled(true);
  for (int i = 0; i < 3; ++i) {
    PlanRequest request;
    std::optional<PlanNow> now;
    if (i == 0) now.emplace(request);
    const auto difference = sconce::testing::compare_nested(run(), expected, sconce::testing::compare_same_bits);
    EXPECT_FALSE(difference) << dtype_name(dtype) << ", call " << i << ": " << *difference;
  }
  std::vector<PlanText> plans = plans_of(f);
  EXPECT_EQ(plans.size(), 1u);
  if (plans.empty()) return {};
  EXPECT_EQ(plans[0].runs, 2u) << "its kernels cannot be made";
  return plans[0];
}

// Small products over few rows are one kernel, larger ones a kernel each, with what follows them.
TEST_F(CudaPlans, ChainsOfSmallLayersAreOneKernel) {
  const NoGrad without_gradients;
  for (const int64_t width : {64, 24, 520}) {
    for (const int64_t rows : {1, 3}) {
      for (const DType dtype : {DType::float32, DType::bfloat16}) {
        jit::CompilationUnit unit(kLayers);
        const PlanText plan = compare_module(unit.module("Layers", width, 3), dtype, {rows, 24});
        EXPECT_EQ(plan.steps, width == 520 ? 5u : 1u) << plan.text;
      }
    }
  }
}

constexpr const char* kNormed = R"(
class Normed(nn.Module):
  def __init__(self, width: int, inner: int):
    super().__init__()
    self.norm = nn.LayerNorm(width)
    self.up = nn.Linear(width, inner)
    self.down = nn.Linear(inner, width)
    self.last = nn.RMSNorm(width)

  def forward(self, x: Tensor) -> Tensor:
    x = x + self.down(F.gelu(self.up(self.norm(x * 2))))
    return torch.relu(self.last(x).mm(self.up.weight.t()))
)";

// Norms of rows that only a product reads are made by its kernel; warps share long depths, and have several columns
// where there are many.
TEST_F(CudaPlans, ProductsMakeTheRowsThatTheyRead) {
  const NoGrad without_gradients;
  struct Case {
    int64_t width, inner, rows;
    size_t steps;
  };
  for (const Case& c : {Case{64, 520, 1, 3},
                        {64, 520, 3, 3},
                        {256, 1536, 2, 3},
                        {64, 4608, 2, 3},
                        {48, 17000, 1, 3},
                        {1032, 64, 1, 5}}) {
    for (const DType dtype : {DType::float32, DType::bfloat16}) {
      jit::CompilationUnit unit(kNormed);
      const PlanText plan = compare_module(unit.module("Normed", c.width, c.inner), dtype, {c.rows, c.width});
      EXPECT_EQ(plan.steps, c.steps) << plan.text;
    }
  }
}

constexpr const char* kPictures = R"(
class Pictures(nn.Module):
  def __init__(self, channels: int):
    super().__init__()
    self.first = nn.BatchNorm2d(channels)
    self.second = nn.BatchNorm2d(channels, affine=False)

  def forward(self, x: Tensor) -> Tensor:
    y = torch.relu(self.first(x))
    return torch.relu(self.second(y) + x)
)";

// Batch norms with constant statistics are part of the loops around them, with eager's factors.
TEST_F(CudaPlans, BatchNormsAreLoops) {
  const NoGrad without_gradients;
  for (const DType dtype : {DType::float32, DType::bfloat16, DType::float16}) {
    jit::CompilationUnit unit(kPictures);
    const jit::Module module = unit.module("Pictures", 5);
    module.eval();
    manual_seed(5);
    for (const auto& [name, t] : module.named_buffers()) {
      if (t.dim() == 1) copy_(t, add(rand(t.sizes()), 0.5));
    }
    for (const Tensor& t : module.parameters()) copy_(t, randn(t.sizes()));
    const PlanText plan = compare_module(module, dtype, {2, 5, 6, 8});
    EXPECT_EQ(plan.steps, 1u) << plan.text;
  }
}

constexpr const char* kLastChannels = R"(
def f(x: Tensor, r: Tensor, scale: Tensor, shift: Tensor):
    return torch.relu((x * scale + shift).to(x.dtype) + r)
)";

// Lines that all lines read, of another dtype, whatever their length.
TEST_F(CudaPlans, LinesThatRepeat) {
  for (const int64_t channels : {8, 64, 256, 2048, 4096, 40, 7}) {
    for (const DType dtype : {DType::float32, DType::bfloat16}) {
      compare(kLastChannels, [&] {
        const auto made = [&](std::vector<int64_t> sizes, DType t) { return up(to(randn(sizes), t)); };
        return std::vector<Value>{Value(made({33, channels}, dtype)), Value(made({33, channels}, dtype)),
                                  Value(made({channels}, DType::float32)), Value(made({channels}, DType::float32))};
      });
    }
  }
}

constexpr const char* kOneQuery = R"(
def f(q: Tensor, k: Tensor, v: Tensor, m: Tensor):
    p = torch.softmax(q.matmul(k.transpose(-1, -2)) * 0.125 + m, -1)
    return p.matmul(v).reshape(1, -1) + 1
)";

// Attention over one query is one kernel, whatever else its weights are made of; of addresses that are no multiples of
// a pack, and where there are more queries or the weights are asked for, it is as eager's.
TEST_F(CudaPlans, AttentionOverOneQueryIsOneKernel) {
  struct Case {
    int64_t heads, queries, keys, depth, size, offset;
    bool is_one;
  };
  for (const Case& c : {Case{3, 1, 65, 64, 64, 0, true},
                        {2, 1, 700, 128, 40, 0, true},
                        {1, 1, 129, 32, 64, 0, true},
                        {3, 1, 65, 64, 64, 1, true},
                        {2, 2, 65, 64, 64, 0, false},
                        {2, 1, 1030, 64, 64, 0, false}}) {
    for (const DType dtype : {DType::float32, DType::bfloat16, DType::float16}) {
      const auto made = [&](std::vector<int64_t> sizes) {
        int64_t n = 1;
        for (const int64_t s : sizes) n *= s;
        return reshape(narrow(up(to(randn({n + c.offset}), dtype)), 0, c.offset, n), sizes);
      };
      const PlanText plan = compare(kOneQuery, [&] {
        return std::vector<Value>{Value(made({1, c.heads, c.queries, c.depth})),
                                  Value(made({1, c.heads, c.keys, c.depth})), Value(made({1, c.heads, c.keys, c.size})),
                                  Value(made({c.keys}))};
      });
      EXPECT_EQ(plan.text.find("attention") != std::string::npos, c.is_one) << plan.text;
    }
  }
}

constexpr const char* kCache = R"(
def f(q: Tensor, keys: Tensor, values: Tensor, k: Tensor, v: Tensor):
    k, v = k * 2, v + 1
    k = torch.cat([keys, k], 2)
    v = torch.cat([values, v], 2)
    p = torch.softmax(q.matmul(k.transpose(-1, -2)) * 0.125, -1)
    return p.matmul(v).reshape(1, -1) + 1, k, v
)";

// It reads a cache and what is new where they are, and writes the grown cache beside.
TEST_F(CudaPlans, AttentionGrowsItsCache) {
  struct Case {
    int64_t heads, cached, added, depth, size, offset;
  };
  for (const Case& c :
       {Case{3, 65, 1, 64, 64, 0}, {1, 40, 3, 32, 64, 0}, {2, 300, 1, 128, 40, 0}, {3, 65, 1, 64, 64, 1}}) {
    for (const DType dtype : {DType::float32, DType::bfloat16}) {
      const auto made = [&](std::vector<int64_t> sizes) {
        int64_t n = 1;
        for (const int64_t s : sizes) n *= s;
        return Value(reshape(narrow(up(to(randn({n + c.offset}), dtype)), 0, c.offset, n), sizes));
      };
      const PlanText plan = compare(kCache, [&] {
        return std::vector<Value>{made({1, c.heads, 1, c.depth}), made({1, c.heads, c.cached, c.depth}),
                                  made({1, c.heads, c.cached, c.size}), made({1, c.heads, c.added, c.depth}),
                                  made({1, c.heads, c.added, c.size})};
      });
      EXPECT_NE(plan.text.find("whose cache grows"), std::string::npos) << plan.text;
    }
  }
}

TEST_F(CudaPlans, ResultsOfGraphsAreNotWrittenByLaterCalls) {
  const NoGrad without_gradients;
  script::Program program(kBlock);
  ir::Function& f = *program.find_function("f");
  const auto run = [&](uint64_t seed) {
    manual_seed(seed);
    std::vector<Value> args;
    for (const auto& sizes : std::vector<std::vector<int64_t>>{{12, 16}, {16, 24}, {24, 16}, {24}})
      args.emplace_back(up(randn(sizes)));
    return runtime::run(f, args);
  };
  set_plans_enabled(false);
  std::vector<Value> expected;
  for (uint64_t i = 0; i < 8; ++i) expected.push_back(down(run(i)));
  set_plans_enabled(true);
  std::vector<Value> seen;
  for (uint64_t i = 0; i < 8; ++i) {
    PlanRequest request;
    std::optional<PlanNow> now;
    if (i == 0) now.emplace(request);
    seen.push_back(run(i));
  }
  for (size_t i = 0; i < seen.size(); ++i) {
    const auto difference =
        sconce::testing::compare_nested(down(seen[i]), expected[i], sconce::testing::compare_same_bits);
    EXPECT_FALSE(difference) << "call " << i << ": " << *difference;
  }
}

// Each on a stream of its own: the graph is of one of them, the other runs kernel by kernel.
// Graphs read inputs that stay where they are: what is written there counts, and so does another tensor.
TEST_F(CudaPlans, GraphsFollowTheirInputs) {
  const NoGrad without_gradients;
  script::Program program(kBlock);
  ir::Function& f = *program.find_function("f");
  manual_seed(3);
  const Tensor w = up(randn({16, 24})), v = up(randn({24, 16})), b = up(randn({24}));
  Tensor x = up(randn({12, 16}));
  for (int i = 0; i < 12; ++i) {
    if (i == 6) copy_(x, up(randn({12, 16})));
    if (i == 9) x = up(randn({12, 16}));
    const auto run = [&] {
      std::vector<Value> args = {Value(x), Value(w), Value(v), Value(b)};
      return down(runtime::run(f, args));
    };
    set_plans_enabled(false);
    const Value expected = run();
    set_plans_enabled(true);
    PlanRequest request;
    std::optional<PlanNow> now;
    if (i == 0) now.emplace(request);
    const auto difference = sconce::testing::compare_nested(run(), expected, sconce::testing::compare_same_bits);
    EXPECT_FALSE(difference) << "call " << i << ": " << *difference;
  }
}

TEST_F(CudaPlans, ThreadsShareAPlan) {
  script::Program program(kBlock);
  ir::Function& f = *program.find_function("f");
  const auto arguments = [&](uint64_t seed) {
    manual_seed(seed);
    std::vector<Value> args;
    for (const auto& sizes : std::vector<std::vector<int64_t>>{{12, 16}, {16, 24}, {24, 16}, {24}})
      args.emplace_back(up(randn(sizes)));
    return args;
  };
  std::vector<std::vector<Value>> given{arguments(1), arguments(2)};
  cuda::synchronize(kGpu);
  std::vector<Value> expected;
  {
    const NoGrad without_gradients;
    set_plans_enabled(false);
    for (std::vector<Value> args : given) expected.push_back(down(runtime::run(f, args)));
    set_plans_enabled(true);
    PlanRequest request;
    const PlanNow now(request);
    std::vector<Value> args = given[0];
    runtime::run(f, args);
  }
  std::vector<std::thread> threads;
  std::atomic<int> different = 0;
  for (size_t t = 0; t < given.size(); ++t) {
    threads.emplace_back([&, t] {
      const NoGrad without_gradients;
      cuda::set_current_stream(kGpu, cuda::pool_stream(kGpu, false));
      for (int i = 0; i < 20; ++i) {
        std::vector<Value> args = given[t];
        const Value seen = down(runtime::run(f, args));
        if (sconce::testing::compare_nested(seen, expected[t], sconce::testing::compare_same_bits)) ++different;
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(different.load(), 0);
  EXPECT_GE(plans_of(f).back().runs, 30u);  // threads that count at once may lose some
}

TEST_F(CudaPlans, NumbersOfTheHostJoin) {
  const Tensor x = up(randn({40})), two = full({}, Scalar(2.5));
  const PlanText plan = compare("def f(x: Tensor, n: Tensor):\n  y = x * n\n  return torch.relu(y + 1) * y\n",
                                [&] { return std::vector<Value>{Value(x), Value(two)}; });
  EXPECT_EQ(plan.steps, 2u) << plan.text;
}

TEST_F(CudaPlans, ErrorsAreTheInterpreters) {
  const Tensor x = up(randn({4, 5}));
  compare("def f(x: Tensor):\n  y = torch.relu(x) + 1\n  return y.matmul(y)\n",
          [&] { return std::vector<Value>{Value(x)}; });
}

TEST_F(CudaPlans, MemoryGoesWithThePlan) {
  const NoGrad without_gradients;
  const Tensor x = up(randn({64, 64}));
  cuda::synchronize(kGpu);
  const size_t before = cuda::memory_statistics(kGpu).allocated;
  {
    script::Program program(
        "def f(x: Tensor):\n  for i in range(4):\n    x = torch.relu(x.matmul(x) * 0.01)\n  return x\n");
    ir::Function& f = *program.find_function("f");
    for (int i = 0; i < 6; ++i) {
      PlanRequest request;
      std::optional<PlanNow> now;
      if (i == 0) now.emplace(request);
      std::vector<Value> args{Value(x)};
      runtime::run(f, args);
    }
    drop_plans(f);
  }
  EXPECT_EQ(cuda::memory_statistics(kGpu).allocated, before);
}

TEST_F(CudaPlans, RandomProgramsHaveTheBitsOfTheInterpreter) {
  const char* wanted = std::getenv("SCONCE_RANDOM_PROGRAMS");
  const unsigned count = wanted ? static_cast<unsigned>(std::atoi(wanted)) : 12;
  for (unsigned seed = 0; seed < count && !HasFailure(); ++seed) {
    const std::string source = random_program(seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + source);
    try {
      const script::Program compiles(source);
    } catch (const Error&) {
      continue;  // a statement that does not fit where it was put
    }
    constexpr int64_t kSizes[] = {3, 8, 1, 17, 33};
    const int64_t k = kSizes[seed % std::size(kSizes)];
    compare(source, [&] {
      manual_seed(seed);
      Tensor a = up(randn({k, k})), b = up(randn({k, k}));
      if (seed % 3 == 1) a = t(a);
      if (seed % 3 == 2) b = slice(up(randn({k, 2 * k})), 1, 0, 2 * k, 2);
      return std::vector<Value>{Value(a), Value(b), Value(static_cast<int64_t>(seed % 5))};
    });
  }
}

}  // namespace
}  // namespace sconce::executor
