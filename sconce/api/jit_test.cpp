#include "sconce/api/jit.h"

#include <gtest/gtest.h>

#include <thread>

#include "sconce/base/source.h"
#include "sconce/dispatch/registry.h"
#include "sconce/dispatch/schema.h"
#include "sconce/tensor/grad_mode.h"
#include "sconce/testing/error_of.h"

namespace sconce::jit {
namespace {

Tensor ones(std::vector<int64_t> sizes) { return call_op("aten::ones", {to_value(sizes)})[0].to_tensor(); }
double item(const Tensor& t) { return call_op("aten::item", {t})[0].to_scalar().to_double(); }

TEST(Jit, ConvertsValues) {
  EXPECT_EQ(to_value(std::vector<std::string>{"a", "b"}).repr(), "['a', 'b']");
  EXPECT_EQ(to_value(std::map<std::string, std::vector<int64_t>>{{"a", {1}}}).type()->annotation(),
            "Dict[str, List[int]]");
  EXPECT_EQ(to_value(std::make_tuple(1, 2.5, std::string("x"))).repr(), "(1, 2.5, 'x')");
  EXPECT_EQ(to_value(std::vector<bool>{true}).repr(), "[True]");
  EXPECT_TRUE(to_value(std::optional<int64_t>()).is_none());
  const auto [a, b] =
      from_value<std::pair<int64_t, std::vector<double>>>(to_value(std::make_pair(1, std::vector<double>{2})));
  EXPECT_EQ(a, 1);
  EXPECT_EQ(b, std::vector<double>{2});
  EXPECT_EQ(from_value<std::optional<std::string>>(Value()), std::nullopt);
  EXPECT_THROW(from_value<int64_t>(Value("a")), Error);
}

TEST(Jit, CallsFunctions) {
  auto unit = compile(
      "def f(x: int, y: float = 0.5) -> float:\n    return x + y\n"
      "def g(xs: List[str]) -> Dict[str, int]:\n    return {x: len(x) for x in xs}\n");
  EXPECT_EQ(unit.function("f")(1).to_double(), 1.5);
  EXPECT_EQ(unit.function("f")(1, 2).to_double(), 3.0);
  EXPECT_EQ(unit.function("f").call({1}, {{"y", 4.0}}).to_double(), 5.0);
  EXPECT_EQ(unit.function("g")(std::vector<std::string>{"ab"}).repr(), "{'ab': 2}");
  EXPECT_EQ(unit.function_names(), (std::vector<std::string>{"f", "g"}));
  EXPECT_EQ(unit.function("f").qualified_name(), "__torch__.f");
  EXPECT_EQ(unit.function("f").schema().arguments.size(), 2);
  EXPECT_NE(unit.function("f").graph().find("aten::add"), std::string::npos);
  EXPECT_THROW(unit.function("h"), Error);
  EXPECT_THROW(unit.function("f")("a"), Error);
  unit.define("def h(x: int) -> float:\n    return f(x) * 2\n");
  EXPECT_EQ(unit.function("h")(1).to_double(), 3.0);
}

TEST(Jit, AFunctionKeepsItsProgramAlive) {
  const Function f = compile("def f() -> int:\n    return 1\n").function("f");
  EXPECT_EQ(f().to_int(), 1);
}

TEST(Jit, MakesObjectsAndEnumMembers) {
  auto unit = compile(
      "from enum import Enum\n"
      "class Color(Enum):\n    RED = 1\n"
      "class Counter:\n"
      "    def __init__(self, n: int):\n        self.n = n\n"
      "    def add(self, k: int) -> int:\n        self.n += k\n        return self.n\n"
      "def name(c: Color) -> str:\n    return c.name\n");
  const Object counter = unit.object("Counter", 3);
  EXPECT_EQ(counter.call_method("add", 4).to_int(), 7);
  EXPECT_EQ(counter.attr<int64_t>("n"), 7);
  counter.set_attr("n", 1);
  EXPECT_EQ(counter.attr<int64_t>("n"), 1);
  EXPECT_THROW(counter.set_attr("n", "x"), Error);
  EXPECT_THROW(counter.attr("m"), Error);
  EXPECT_EQ(unit.function("name")(unit.enum_member("Color", "RED")).to_string_ref(), "RED");
}

constexpr const char* kNet =
    "class Net(nn.Module):\n"
    "    def __init__(self, n: int):\n"
    "        super().__init__()\n"
    "        self.first = nn.Linear(n, n)\n"
    "        self.rest = nn.Sequential(nn.ReLU(), nn.Linear(n, 1, bias=False))\n"
    "        self.register_buffer('steps', torch.zeros(1))\n"
    "        self.tied = self.first\n"
    "        self.weights = [self.first.weight]\n"
    "    def forward(self, x):\n"
    "        self.steps += 1\n"
    "        return self.rest(self.first(x))\n"
    "    @torch.jit.export\n"
    "    def total(self) -> float:\n"
    "        return float(self.weights[0].sum())\n";

TEST(Jit, BuildsModules) {
  auto unit = compile(kNet);
  auto net = unit.module("Net", 3);
  std::vector<std::string> names;
  for (const auto& [name, t] : net.named_parameters()) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"first.weight", "first.bias", "rest.1.weight"}));
  EXPECT_EQ(net.parameters().size(), 3);
  EXPECT_EQ(net.named_buffers()[0].first, "steps");
  EXPECT_EQ(net.named_children().size(), 3);
  EXPECT_EQ(net.named_modules().size(), 5);  // what is shared counts once
  EXPECT_EQ(net.submodule("rest.1").type_name(), "__torch__.torch.nn.modules.linear.___torch_mangle_0.Linear");
  EXPECT_EQ(net(ones({2, 3})).to_tensor().sizes().vec(), (std::vector<int64_t>{2, 1}));
  EXPECT_EQ(item(net.attr<Tensor>("steps")), 1);
  EXPECT_TRUE(net.is_training());
  net.eval();
  EXPECT_FALSE(net.submodule("rest.0").is_training());
  EXPECT_THROW(unit.module("Nothing"), Error);
}

TEST(Jit, ClonesWhatModulesHold) {
  auto unit = compile(kNet);
  auto net = unit.module("Net", 2);
  auto copy = net.clone();
  copy(ones({1, 2}));
  EXPECT_EQ(item(net.attr<Tensor>("steps")), 0);
  EXPECT_EQ(item(copy.attr<Tensor>("steps")), 1);
  // Sharing survives: the list of weights holds the copy's own.
  const NoGrad quiet;
  call_op("aten::fill_.Scalar", {copy.named_parameters()[0].second, 1.0});
  EXPECT_EQ(copy.call_method("total").to_double(), 4.0);
  EXPECT_EQ(copy.named_modules().size(), 5);
}

TEST(Jit, ConvertsModules) {
  auto unit = compile(kNet);
  auto net = unit.module("Net", 2);
  net.to(DType::float64);
  for (const Tensor& p : net.parameters()) EXPECT_EQ(p.dtype(), DType::float64);
  const NoGrad quiet;
  call_op("aten::fill_.Scalar", {net.named_parameters()[0].second, 2.0});
  EXPECT_EQ(net.call_method("total").to_double(), 8.0);
  net.to(Device(DeviceType::cpu));
  EXPECT_EQ(net.parameters()[0].dtype(), DType::float64);
}

TEST(Jit, LoadsState) {
  auto unit = compile(kNet);
  auto net = unit.module("Net", 2);
  auto other = unit.module("Net", 2);
  NamedTensors state = net.state_dict();
  EXPECT_EQ(state.size(), 6);  // under every name
  other.load_state_dict(state);
  const Tensor x = ones({1, 2});
  EXPECT_EQ(item(net(x).to_tensor()), item(other(x).to_tensor()));
  state.erase(state.begin());
  state.emplace_back("more", x);
  const std::string message = testing::error_of([&] { other.load_state_dict(state); });
  EXPECT_NE(message.find("Missing key(s) in state_dict: \"steps\""), std::string::npos) << message;
  EXPECT_NE(message.find("Unexpected key(s) in state_dict: \"more\""), std::string::npos) << message;
  other.load_state_dict(state, /*strict=*/false);
  state[0].second = x;  // first.weight
  EXPECT_NE(testing::error_of([&] { other.load_state_dict(state, false); }).find("size mismatch for first.weight"),
            std::string::npos);
}

// Nothing of the module was called before: compiling its code is part of the race.
TEST(Jit, ManyThreadsCallOneModule) {
  CompilationUnit unit = compile(R"(
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(8, 8) for _ in range(4)])
        self.names = ["a", "b"]
    def forward(self, x: Tensor, k: int) -> Tuple[Tensor, str, int]:
        seen: Dict[str, int] = {}
        for layer in self.layers:
            x = torch.relu(layer(x)) * k
        for i, name in enumerate(self.names):
            seen[name] = i * k
        return x, self.names[k % 2] + "!", seen["b"]
)");
  const Module net = unit.module("Net").eval();
  const Tensor x = ones({2, 8});
  constexpr int kThreads = 64;
  std::vector<Value> results(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 10; ++i) results[t] = net(x, t);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int t = 0; t < kThreads; ++t) {
    const Value alone = net(x, t);
    const auto& got = results[t].to_tuple().items;
    EXPECT_TRUE(call_op("aten::equal", {got[0], alone.to_tuple().items[0]})[0].to_bool());
    EXPECT_EQ(got[1].to_string_ref(), t % 2 ? "b!" : "a!");
    EXPECT_EQ(got[2].to_int(), t);
  }
}

TEST(Jit, SaysWhereATextIsWrong) {
  try {
    compile("def f(x: int):\n    return x.foo\n", {.name = "model.py", .first_line = 10});
    FAIL();
  } catch (const CompileError& error) {
    EXPECT_EQ(error.at().line(), 11);
    EXPECT_NE(std::string(error.what()).find("model.py"), std::string::npos);
  }
}

}  // namespace
}  // namespace sconce::jit
