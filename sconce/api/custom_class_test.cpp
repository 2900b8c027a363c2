#include "sconce/dispatch/class_builder.h"

#include <gtest/gtest.h>

#include "sconce/api/deep_copy.h"
#include "sconce/api/jit.h"
#include "sconce/serialization/file/zip_writer.h"
#include "sconce/testing/error_of.h"
#include "sconce/testing/temporary_folder.h"

namespace sconce::jit {
namespace {

struct Counter {
  explicit Counter(int64_t start, std::string name = "") : count(start), name(std::move(name)) {}
  int64_t add(int64_t n) { return count += n * step; }
  Tensor scaled(const Tensor& x) const {
    Tensor out = empty_tensor(x.sizes(), x.dtype());
    for (int64_t i = 0; i < x.numel(); ++i) out.data<float>()[i] = x.data<float>()[i] * static_cast<float>(count);
    return out;
  }
  int64_t count;
  int64_t step = 1;
  std::string name;
};

struct Silent {};

using CounterPtr = std::shared_ptr<Counter>;

void define_classes(Library& m) {
  m.class_<Counter>("Counter")
      .def(init<int64_t, std::string>(), "(int start=0, str name=\"\")")
      .def("add", &Counter::add)
      .def("scaled(Tensor x) -> Tensor", &Counter::scaled)
      .def("pair", [](const CounterPtr& self) { return std::make_tuple(self->count, self->name); })
      .def("reset", [](const CounterPtr& self) { self->count = 0; })
      .def("same", [](const CounterPtr& self, const CounterPtr& other) { return self == other; })
      .def("grown(int by, *, int times=2) -> __torch__.torch.classes.class_test.Counter",
           [](const CounterPtr& self, int64_t by, int64_t times) {
             return std::make_shared<Counter>(self->count + by * times, self->name);
           })
      .def_static("named", [](const std::string& name) { return std::make_shared<Counter>(100, name); })
      .def_property("total", [](const CounterPtr& self) { return self->count; })
      .def_readwrite("step", &Counter::step)
      .def_pickle(
          [](const CounterPtr& self) {
            return std::make_tuple(self->count, self->name, std::vector<int64_t>{self->step});
          },
          [](const std::tuple<int64_t, std::string, std::vector<int64_t>>& state) {
            auto made = std::make_shared<Counter>(std::get<0>(state), std::get<1>(state));
            made->step = std::get<2>(state).at(0);
            return made;
          });
  m.class_<Silent>("Silent").def(init<>());
  m.def("count_of(__torch__.torch.classes.class_test.Counter c) -> int");
  m.impl("count_of", Key::cpu,
         static_cast<int64_t (*)(const CounterPtr&)>([](const CounterPtr& c) { return c->count; }));
}

class CustomClass : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    static const library::Registration once("class_test", false, "custom_class_test.cpp", define_classes);
  }
};

TEST_F(CustomClass, IsUsedByScripts) {
  const auto unit = compile(R"(
def f(n: int):
    c = torch.classes.class_test.Counter(n, name="c")
    c.add(5)
    c.step = 10
    c.add(1)
    return c.pair(), c.total, c.step, c.same(c), c.grown(1, times=3).total

def statics():
    return torch.classes.class_test.Counter.named("x").pair()

def defaults():
    c = torch.classes.class_test.Counter()
    c.reset()
    return c.total

def operators(c: torch.classes.class_test.Counter) -> int:
    return torch.ops.class_test.count_of(c) + c.total

def loops(c: torch.classes.class_test.Counter, n: int) -> int:
    cs = [c]
    for i in range(n):
        cs.append(cs[-1].grown(i))
    return cs[-1].total
)");
  EXPECT_EQ(unit.function("f")(3).repr(), "((18, 'c'), 18, 10, True, 21)");
  EXPECT_EQ(unit.function("statics")().repr(), "(100, 'x')");
  EXPECT_EQ(unit.function("defaults")().repr(), "0");
  const Value c =
      make_instance(find_custom_class("__torch__.torch.classes.class_test.Counter"), std::make_shared<Counter>(4));
  EXPECT_EQ(unit.function("operators")(c).to_int(), 8);
  EXPECT_EQ(unit.function("loops")(c, 5).to_int(), 24);
  EXPECT_EQ(instance<Counter>(c).count, 4);
}

constexpr const char* kModule = R"(
class Net(nn.Module):
    def __init__(self, n: int):
        super().__init__()
        self.counter = torch.classes.class_test.Counter(n)

    def forward(self, x: Tensor) -> Tensor:
        self.counter.add(1)
        local = torch.classes.class_test.Counter(2)
        return self.counter.scaled(x) + local.scaled(x) + torch.classes.class_test.Counter.named("s").total

class Counts(nn.Module):
    def __init__(self, n: int):
        super().__init__()
        self.counter = torch.classes.class_test.Counter(n)

    def forward(self, x: Tensor) -> Tensor:
        self.counter.add(1)
        local = torch.classes.class_test.Counter(2)
        return self.counter.scaled(x) + local.scaled(x)
)";

std::string run(const Module& m) {
  const Tensor x = empty_tensor({2}, DType::float32);
  x.data<float>()[0] = 1;
  x.data<float>()[1] = 2;
  return m(x).repr();
}

TEST_F(CustomClass, IsAnAttributeThatFilesHold) {
  auto unit = compile(kModule);
  const Module net = unit.module("Net", 3);
  EXPECT_EQ(run(net), "tensor([106., 112.])");
  const testing::TemporaryFolder folder;
  net.save(folder.file("net.pt"));
  const Module loaded = load(folder.file("net.pt"));
  EXPECT_EQ(run(loaded), "tensor([107., 114.])");
  EXPECT_EQ(run(net), "tensor([107., 114.])");
  loaded.save(folder.file("again.pt"));
  EXPECT_EQ(run(load(folder.file("again.pt"))), "tensor([108., 116.])");
  unit.module("Counts", 5).save_lite(folder.file("net.ptl"));
  EXPECT_EQ(run(load(folder.file("net.ptl"))), "tensor([ 8., 16.])");
  const Value copy = deep_copy(net.attr("counter"));
  EXPECT_EQ(instance<Counter>(copy).count, 5);
  EXPECT_NE(&instance<Counter>(copy), &instance<Counter>(net.attr("counter")));
}

TEST_F(CustomClass, IsRefusedWithAReason) {
  EXPECT_ERROR(
      compile("def f():\n    return torch.classes.class_test.Counte(1)\n"),
      "Tried to instantiate class 'class_test.Counte', but it does not exist! Ensure that it is registered via "
      "torch::class_");
  EXPECT_ERROR(compile("def f(x: torch.classes.nowhere.K):\n    return x\n"),
               "Tried to instantiate class 'nowhere.K', but it does not exist!");
  EXPECT_ERROR(compile("def f():\n    return torch.classes.class_test.Counter('a')\n"),
               "Expected a value of type 'int' for argument 'start'");
  const TypePtr type = find_custom_class("__torch__.torch.classes.class_test.Silent");
  EXPECT_ERROR(deep_copy(make_instance(type, std::make_shared<Silent>())),
               "Cannot serialize custom bound C++ class __torch__.torch.classes.class_test.Silent. Please define "
               "serialization methods via def_pickle() for this class.");
  EXPECT_ERROR(instance<Counter>(make_instance(type, std::make_shared<Silent>())),
               "an object of class '__torch__.torch.classes.class_test.Silent' holds another C++ object");
  EXPECT_ERROR(instance<Silent>(Value(make_ref<sconce::Object>(type))), "is used before it was initialised");
  EXPECT_ERROR(register_class(ClassDefinition("class_test.Silent")), "is already registered");
  EXPECT_ERROR(ClassDefinition("Silent"), "the name of a class is NAMESPACE.NAME, got 'Silent'");
  ClassDefinition half("class_test.Half");
  half.def("__getstate__() -> int", [](Value*) { return Value(1); });
  EXPECT_ERROR(half.def("__getstate__() -> int", [](Value*) { return Value(1); }),
               "has the method '__getstate__' already");
  EXPECT_ERROR(register_class(std::move(half)), "needs both of __getstate__ and __setstate__, or neither");
  auto unit = compile(R"(
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.silent = torch.classes.class_test.Silent()

    def forward(self) -> int:
        return 1
)");
  const testing::TemporaryFolder folder;
  EXPECT_ERROR(unit.module("Net").save(folder.file("net.pt")), "silent: Cannot serialize custom bound C++ class");
}

// What does not fit its C++ function leaves nothing of its library.
TEST_F(CustomClass, IsCheckedAgainstItsSchema) {
  const auto enter = [](void (*block)(Library&)) {
    const library::Registration registration("class_test_wrong", false, "custom_class_test.cpp", block);
  };
  EXPECT_ERROR(enter([](Library& m) { m.class_<Counter>("A").def("add(str n) -> int", &Counter::add); }),
               "add(str n) -> int: the C++ function takes int for n");
  EXPECT_ERROR(enter([](Library& m) { m.class_<Counter>("A").def("add(int n) -> str", &Counter::add); }),
               "the C++ function returns int");
  EXPECT_ERROR(enter([](Library& m) { m.class_<Counter>("A").def("add() -> int", &Counter::add); }),
               "the C++ function has 1 parameters");
  EXPECT_EQ(find_custom_class("__torch__.torch.classes.class_test_wrong.A"), nullptr);
}

// Whoever loads a file learns what it would have to register.
TEST_F(CustomClass, ThatIsNotRegisteredIsRefusedWithItsMethods) {
  using namespace std::string_literals;
  const testing::TemporaryFolder folder;
  const std::string path = folder.file("m.pt");
  FileWriter out(path);
  ZipWriter zip(out, "m");
  zip.add("data.pkl", "\x80\2c__torch__\nM\n)\x81}(X\1\0\0\0kc__torch__.torch.classes.nowhere\nK\n)\x81K\1bub."s);
  zip.add("code/__torch__.py",
          "class M(Module):\n"
          "  k : __torch__.torch.classes.nowhere.K\n"
          "  def forward(self: __torch__.M, x: Tensor) -> Tensor:\n"
          "    k = self.k\n"
          "    y = (k).scaled((k).first(x, ), )\n"
          "    return torch.add(y, (self.k).bias())\n"
          "  def other(self: __torch__.M, o: Optional[__torch__.torch.classes.nowhere.L]) -> int:\n"
          "    return 1\n");
  zip.add("constants.pkl", "\x80\2)."s);
  zip.add("version", "3\n");
  zip.finish();
  out.commit();
  EXPECT_ERROR(load(path),
               path +
                   ": needs classes of C++ that are not registered: torch.classes.nowhere.K (the file calls "
                   "scaled, first, bias); torch.classes.nowhere.L (the file calls none of its methods)");
}

}  // namespace
}  // namespace sconce::jit
