// Default arguments of every kind, from text and from archives, and what files keep of them.
#include <gtest/gtest.h>

#include "sconce/api/jit.h"
#include "sconce/dispatch/schema.h"
#include "sconce/testing/error_of.h"
#include "sconce/testing/source_tree.h"
#include "sconce/testing/temporary_folder.h"

namespace sconce::jit {
namespace {

Tensor ones(int64_t n) {
  Tensor t = empty_tensor({n}, DType::float32);
  std::fill_n(t.data<float>(), n, 1.0f);
  return t;
}

constexpr const char* kStateful = R"(
class Net(nn.Module):
    def forward(self, x: Tensor, state: Tensor = torch.zeros(0), *, scale: Tensor = torch.tensor(2.0)) -> Tensor:
        if state.numel() == 0:
            state = torch.ones(2)
        return x * scale + state

class Twice(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = Net()

    def forward(self, x: Tensor) -> Tensor:
        return self.a(self.a(x), scale=torch.tensor(10.0))
)";

TEST(DefaultArguments, AreTensorsInTexts) {
  auto unit = compile(kStateful);
  const Module net = unit.module("Net");
  EXPECT_EQ(net(ones(2)).repr(), "tensor([3., 3.])");
  EXPECT_EQ(net.call({ones(2)}, {{"scale", ones(1)}}).repr(), "tensor([2., 2.])");
  EXPECT_EQ(unit.module("Twice")(ones(2)).repr(), "tensor([31., 31.])");
  EXPECT_EQ(net.method("forward").schema().to_string(),
            "__torch__.Net.forward(__torch__.Net self, Tensor x, Tensor state=[ CPUFloatType{0} ], *, Tensor "
            "scale=2\n[ CPUFloatType{} "
            "]) -> Tensor");
}

// A def is evaluated once: what one call writes into its default the next one sees.
TEST(DefaultArguments, AreOneObject) {
  auto unit = compile(R"(
def count(x: Tensor = torch.zeros(1)) -> Tensor:
    x += 1
    return x.clone()

class Counts(nn.Module):
    def __init__(self, n: int):
        super().__init__()
        self.n = n
        if n > 1:
            self.more = n

    def forward(self, x: Tensor = torch.zeros(1)) -> Tensor:
        x += self.n
        return x.clone()
)");
  EXPECT_EQ(unit.function("count")().repr(), "tensor([1.])");
  EXPECT_EQ(unit.function("count")().repr(), "tensor([2.])");
  const Module one = unit.module("Counts", 1), five = unit.module("Counts", 5);
  EXPECT_EQ(one().repr(), "tensor([1.])");
  EXPECT_EQ(five().repr(), "tensor([6.])");
}

TEST(DefaultArguments, AreKeptByFiles) {
  auto unit = compile(kStateful);
  const testing::TemporaryFolder folder;
  for (const char* name : {"Net", "Twice"}) {
    const Module net = unit.module(name);
    const std::string expected = net(ones(2)).repr();
    net.save(folder.file("net.pt"));
    const Module loaded = load(folder.file("net.pt"));
    EXPECT_EQ(loaded(ones(2)).repr(), expected);
    loaded.save(folder.file("again.pt"));
    EXPECT_EQ(load(folder.file("again.pt"))(ones(2)).repr(), expected);
  }
}

TEST(DefaultArguments, OfPyTorchsArchive) {
  const Module m = load(testing::source_path("tests/data/default_arguments.pt"));
  EXPECT_EQ(m(ones(2)).repr(), "(tensor([7., 7.]), tensor([[1., 1.]], dtype=torch.float64), -3)");
  EXPECT_EQ(
      m.submodule("tensors").method("forward").schema().to_string(),
      "__torch__.m.TensorDefaults.forward(__torch__.m.TensorDefaults self, Tensor x, Tensor state=[ CPUFloatType{0} ], "
      "Tensor? other= 1  1\n"
      " 1  1\n[ CPUFloatType{2,2} ], (Tensor, int) pair=( 1\n[ CPUFloatType{1} ], 2)) -> (Tensor, Tensor, Tensor, "
      "Tensor)");
  EXPECT_EQ(m.submodule("plain").method("forward").schema().to_string(),
            "__torch__.m.PlainDefaults.forward(__torch__.m.PlainDefaults self, Tensor x, int? n=None, float f=0.001, "
            "int i=-3, str "
            "s=\"a\\'b\\n\", bool b=True, (int, float) t=(1, 2.), Enum<__torch__.m.Color> c=Enum<Color.BLUE>, float "
            "inf0=-inf, complex z=1.+2.j, NamedTuple(x : int, y : float) p=(1, 2.5), Union(int, str) any=x) -> "
            "(Tensor, int?, float, "
            "int, str, bool, (int, float), int, float, complex, int, float, Union(int, str))");
  EXPECT_EQ(m.submodule("plain").method("helper").schema().to_string(),
            "__torch__.m.PlainDefaults.helper(__torch__.m.PlainDefaults self, int[] sizes=[1, 2], Device device=cpu, "
            "int dtype=7) -> Tensor");
  const testing::TemporaryFolder folder;
  m.save(folder.file("again.pt"));
  const Module again = load(folder.file("again.pt"));
  EXPECT_EQ(again.submodule("plain")(ones(2)).repr(), m.submodule("plain")(ones(2)).repr());
  EXPECT_EQ(again.submodule("tensors")(ones(2)).repr(), m.submodule("tensors")(ones(2)).repr());
  const auto text = [](const Module& from) {
    return from.submodule("tensors").method("forward").code() + from.submodule("plain").method("forward").code();
  };
  EXPECT_EQ(text(again), text(m));
}

TEST(DefaultArguments, OfLiteFiles) {
  auto unit = compile(R"(
class Net(nn.Module):
    def forward(self, x: Tensor, state: Tensor = torch.ones(2), pair: Tuple[Tensor, int] = (torch.ones(1), 2)) -> Tensor:
        return x + state * pair[1]
)");
  const testing::TemporaryFolder folder;
  unit.module("Net").save_lite(folder.file("net.ptl"));
  const Module lite = load(folder.file("net.ptl"));
  EXPECT_EQ(lite(ones(2)).repr(), "tensor([3., 3.])");
}

TEST(DefaultArguments, AreRefusedWithAReason) {
  EXPECT_ERROR(compile("def f(x: Tensor, a: List[Tensor] = [torch.ones(1)]):\n    return x\n"),
               "Mutable default parameters are not supported");
  EXPECT_ERROR(compile("def f(x: int = torch.ones(1)):\n    return x\n"),
               "Expected a default value of type int on parameter \"x\".");
}

}  // namespace
}  // namespace sconce::jit
