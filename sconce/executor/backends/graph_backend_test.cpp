// Backends: what they are offered, what plans make of their parts, what happens when they are wrong.
#include "sconce/executor/graph_backend.h"

#include <gtest/gtest.h>

#include "sconce/api/jit.h"
#include "sconce/executor/backends/test_replay_backend.h"
#include "sconce/executor/function_plans.h"
#include "sconce/ops.h"
#include "sconce/tensor/generator.h"
#include "sconce/tensor/grad_mode.h"
#include "sconce/testing/compiled/planned_calls.h"
#include "sconce/testing/error_of.h"

namespace sconce::executor {

namespace {

using testing::compare_same_bits;

bool everything(const ir::Node&) { return true; }
bool nothing(const ir::Node&) { return false; }
std::function<bool(const ir::Node&)> these(std::vector<std::string> names) {
  return [names](const ir::Node& node) {
    return std::find(names.begin(), names.end(), node.op()->qualified_name()) != names.end();
  };
}

// Registers a new backend and chooses it, until the end of the test.
class Chosen {
 public:
  Chosen(std::function<bool(const ir::Node&)> takes, std::string dialect = "functional") {
    static int count = 0;
    backend_ = std::make_shared<ReplayBackend>("replay" + std::to_string(count++), std::move(dialect), takes);
    register_backend(backend_);
    set_backend(backend_->name());
  }
  ~Chosen() { set_backend("sconce"); }
  Chosen(const Chosen&) = delete;
  ReplayBackend* operator->() const { return backend_.get(); }

 private:
  std::shared_ptr<ReplayBackend> backend_;
};

Value interpreted(const jit::Function& f, std::vector<Value> args) {
  set_plans_enabled(false);
  Value out = f.call(std::move(args));
  set_plans_enabled(true);
  return out;
}

// The plan's result of the third call.
Value planned(const jit::Function& f, const std::vector<Value>& args) {
  f.call(args);
  f.call(args);
  return f.call(args);
}
std::string plan_of(const jit::Function& f) {
  std::string why;
  const std::vector<PlanText> plans = plans_of(f.function(), &why);
  return plans.empty() ? "no plan: " + why : plans.back().text;
}

constexpr const char* kChain = R"(
def f(x: Tensor, y: Tensor) -> Tensor:
    a = torch.relu(x * y)
    b = torch.matmul(a, y.t())
    return torch.sigmoid(b + 1) * b
)";

TEST(Backends, TakeWhatTheyWant) {
  const NoGrad without_gradients;
  const Chosen backend(these({"aten::mul.Tensor", "aten::relu", "aten::add.Scalar", "aten::sigmoid"}));
  const jit::CompilationUnit unit = jit::compile(kChain);
  const jit::Function f = unit.function("f");
  manual_seed(0);
  const Tensor x = randn({3, 4}), y = randn({3, 4});
  EXPECT_FALSE(compare_same_bits(planned(f, {x, y}).to_tensor(), interpreted(f, {x, y}).to_tensor()));
  EXPECT_EQ(backend->graphs().size(), 2u);
  EXPECT_EQ(backend->graphs()[0],
            "graph(%0 : Float(3, 4, strides=[4, 1], requires_grad=0, device=cpu),\n"
            "      %1 : Float(3, 4, strides=[4, 1], requires_grad=0, device=cpu)):\n"
            "  %2 : Float(3, 4, strides=[4, 1], requires_grad=0, device=cpu) = aten::mul(%0, %1)\n"
            "  %3 : Float(3, 4, strides=[4, 1], requires_grad=0, device=cpu) = aten::relu(%2)\n"
            "  return (%3)\n");
  const std::string plan = plan_of(f);
  EXPECT_EQ(plan.find("backend replay"), 0u) << plan;
  EXPECT_NE(plan.find("aten::mm"), plan.npos) << plan;
}

TEST(Backends, ThatTakeNothingLeaveThePlan) {
  const NoGrad without_gradients;
  const jit::CompilationUnit unit = jit::compile(kChain);
  const jit::Function f = unit.function("f");
  const Tensor x = ones({3, 4});
  planned(f, {x, x});
  const std::string own = plan_of(f);
  const Chosen backend(nothing);
  planned(f, {x, x});
  EXPECT_EQ(plan_of(f), own);
  EXPECT_EQ(plans_of(f.function()).size(), 2u);
  EXPECT_TRUE(backend->graphs().empty());
}

TEST(Backends, ThatThrowWhileCompilingLeaveThePlan) {
  const NoGrad without_gradients;
  const jit::CompilationUnit unit = jit::compile(kChain);
  const jit::Function f = unit.function("f");
  const Tensor x = ones({3, 4});
  planned(f, {x, x});
  const std::string own = plan_of(f);
  const Chosen backend(everything);
  int asked = 0;
  backend->before_compile = [&](const Subgraph&) {
    ++asked;
    fail("this is too hard");
  };
  const Tensor out = planned(f, {x, x}).to_tensor();
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(plan_of(f), own);
  EXPECT_FALSE(compare_same_bits(out, interpreted(f, {x, x}).to_tensor()));
}

TEST(Backends, ThatAreWrongAreNamed) {
  const NoGrad without_gradients;
  const jit::CompilationUnit unit = jit::compile("def f(x: Tensor) -> Tensor:\n    return torch.relu(x * 2)\n");
  const jit::Function f = unit.function("f");
  const Tensor x = ones({2, 3});
  const Chosen backend(everything);
  f(x), f(x);
  const std::string result = "result 1 of 1 for %2 = aten::relu(%1)  [2, 3] float32: ";
  const std::string start = "backend '" + backend->name() + "' gives a wrong " + result;
  backend->instead = [](auto, std::span<Tensor> out) { out[0] = ones({3, 2}); };
  EXPECT_ERROR(f(x), start + "it is [3, 2] float32");
  backend->instead = [](auto, std::span<Tensor> out) { out[0] = ones({2, 3}, DType::float64); };
  EXPECT_ERROR(f(x), start + "it is [2, 3] float64");
  backend->instead = [](auto, std::span<Tensor> out) { out[0] = {}; };
  EXPECT_ERROR(f(x), start + "there is none");
  backend->instead = [](auto, std::span<Tensor> out) { out[0] = ones({2, 3}, DType::float32, {}, DeviceType::meta); };
  EXPECT_ERROR(f(x), start + "it is no ordinary tensor of the CPU");
  backend->instead = [](auto, std::span<Tensor> out) { resize_(out[0], {5}); };
  EXPECT_ERROR(f(x), start + "it is [5] float32");
  backend->instead = [](auto, auto) { fail("out of luck"); };
  EXPECT_ERROR(f(x), "backend '" + backend->name() + "' failed at the part that gives %2 = aten::relu(%1)  " +
                         "[2, 3] float32: out of luck");
  // Another tensor of the right geometry is copied, whatever its strides.
  backend->instead = [](auto, std::span<Tensor> out) { out[0] = t(full({3, 2}, 7.f)); };
  const Tensor given = f(x).to_tensor();
  EXPECT_TRUE(given.is_contiguous());
  EXPECT_FALSE(compare_same_bits(given, full({2, 3}, 7.f)));
}

TEST(Backends, ShareMemoryAsTheProgramDoes) {
  const NoGrad without_gradients;
  const jit::CompilationUnit unit = jit::compile(R"(
def f(x: Tensor) -> Tuple[Tensor, Tensor, Tensor, List[Tensor]]:
    a = torch.relu(x)
    v = a.t()
    u = x.unsqueeze(0)
    return v, a, u + 1, torch.split(v * 2, 1)
def g(x: Tensor) -> Tensor:
    return x.t()
)");
  const Chosen backend(everything);
  const jit::Function f = unit.function("f"), g = unit.function("g");
  manual_seed(0);
  const Tensor x = randn({2, 3});
  const Value out = planned(f, {x}), expected = interpreted(f, {x});
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_FALSE(compare_same_bits(out.to_tuple().items[i].to_tensor(), expected.to_tuple().items[i].to_tensor()));
  }
  const Value &pieces = out.to_tuple().items[3], &expected_pieces = expected.to_tuple().items[3];
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_FALSE(compare_same_bits(pieces.to_list().tensors()[i], expected_pieces.to_list().tensors()[i]));
  }
  const std::vector<Value>& items = out.to_tuple().items;
  EXPECT_EQ(items[0].to_tensor().data(), items[1].to_tensor().data());
  EXPECT_EQ(planned(g, {x}).to_tensor().data(), x.data());
  EXPECT_NE(plan_of(f).find("backend replay"), std::string::npos);
}

TEST(Backends, KeepOrderAroundWritesAndDraws) {
  const NoGrad without_gradients;
  const jit::CompilationUnit unit = jit::compile(R"(
def f(x: Tensor) -> Tensor:
    a = torch.relu(x)
    b = torch.zeros(2, 3)
    b[0].copy_(a[0])
    c = b * 2
    b[1].copy_(c[0])
    return torch.dropout(c + b, 0.5, True) + torch.rand(2, 3)
)");
  const Chosen backend(everything);
  const jit::Function f = unit.function("f");
  manual_seed(0);
  const Tensor x = randn({2, 3});
  f(x), f(x);
  manual_seed(5);
  const Tensor out = f(x).to_tensor();
  manual_seed(5);
  EXPECT_FALSE(compare_same_bits(out, interpreted(f, {x}).to_tensor()));
}

TEST(Backends, SeeConstantsAndTheirWrites) {
  const NoGrad without_gradients;
  jit::CompilationUnit unit = jit::compile(R"(
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)
    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.a(x))
)");
  const Chosen backend(everything);
  const jit::Module net = unit.module("Net");
  std::vector<bool> constant;
  backend->before_compile = [&](const Subgraph& part) {
    constant.clear();
    for (const Tensor& t : part.constants) constant.push_back(t.defined());
  };
  const Tensor x = ones({2, 4});
  const jit::Function f = net.get_method("forward");
  const auto agrees = [&] { return !compare_same_bits(f(x).to_tensor(), interpreted(f, {x}).to_tensor()); };
  planned(f, {x});
  EXPECT_EQ(std::count(constant.begin(), constant.end(), true), 2);
  EXPECT_TRUE(agrees());
  add_(net.attr("a").to_object().attr("weight").to_tensor(), 1);
  EXPECT_TRUE(agrees());
  EXPECT_TRUE(plans_of(f.function()).empty());
}

TEST(Backends, GetCoreAndPrims) {
  const NoGrad without_gradients;
  const jit::CompilationUnit unit = jit::compile(R"(
def f(x: Tensor, y: Tensor) -> Tensor:
    a = torch.nn.functional.silu(x).transpose(0, 1)
    b = torch.softmax(a, 1).reshape(-1)[:6].view(2, 3)
    return torch.cat([b, torch.where(y > 0, y, b.sum())], 0) + torch.logit(torch.sigmoid(y[0]))
)");
  const jit::Function f = unit.function("f");
  manual_seed(0);
  const Tensor x = randn({3, 4}), y = randn({2, 3});
  const Tensor expected = interpreted(f, {x, y}).to_tensor();
  for (const char* dialect : {"core", "prims"}) {
    const Chosen backend(everything, dialect);
    EXPECT_TRUE(allclose(planned(f, {x, y}).to_tensor(), expected, 1e-6, 1e-6)) << dialect;
    std::string graphs;
    for (const std::string& graph : backend->graphs()) graphs += graph;
    EXPECT_NE(graphs.find(dialect == std::string("core") ? "aten::exp" : "prims::exp"), std::string::npos) << graphs;
    EXPECT_EQ(graphs.find("aten::silu"), std::string::npos);
  }
}

TEST(Backends, AreKnownByName) {
  EXPECT_EQ(list_backends()[0], "sconce");
  EXPECT_ERROR(set_backend("nobody"), "set_backend: there is no backend 'nobody'; known are: sconce");
  EXPECT_ERROR(register_backend(nullptr), "register_backend: null is no backend");
  const auto make = [](const char* name, const char* dialect) {
    return std::make_shared<ReplayBackend>(name, dialect, nothing);
  };
  EXPECT_ERROR(register_backend(make("", "core")), "a backend has an empty name");
  EXPECT_ERROR(register_backend(make("sconce", "core")), "there is a backend 'sconce' already");
  EXPECT_ERROR(register_backend(make("odd", "llvm")),
               "backend 'odd' wants the dialect 'llvm'; known are: functional, core, prims");
  register_backend(make("even", "prims"));
  EXPECT_ERROR(register_backend(make("even", "prims")), "there is a backend 'even' already");
  set_backend("even");
  EXPECT_EQ(current_backend(), "even");
  set_backend("sconce");
}

TEST(Backends, PlanNowSaysWhatItDid) {
  const NoGrad without_gradients;
  const Chosen backend(these({"aten::relu"}));
  set_backend("sconce");
  const jit::CompilationUnit unit = jit::compile(R"(
def f(x: Tensor) -> Tensor:
    return torch.relu(x * 2)
def g(x: Tensor) -> int:
    return int(x.sum().item())
)");
  const jit::Function f = unit.function("f"), g = unit.function("g");
  const Tensor x = ones({2, 3});
  PlanRequest request;
  request.backend = backend->name();
  {
    const PlanNow now(request);
    f(x);
    g(x);
  }
  ASSERT_EQ(request.outcomes.size(), 2u);
  EXPECT_TRUE(request.outcomes[0].planned);
  EXPECT_EQ(request.outcomes[0].plan.steps, 2u) << request.outcomes[0].plan.text;
  EXPECT_FALSE(request.outcomes[1].planned);
  EXPECT_NE(request.outcomes[1].why, "");
  f(x);  // by the plan, with the backend that was asked for
  EXPECT_EQ(plans_of(f.function())[0].runs, 1u);
  request.backend = "nobody";
  const PlanNow now(request);
  EXPECT_ERROR(f(x), "there is no backend 'nobody'");
}

}  // namespace
}  // namespace sconce::executor
