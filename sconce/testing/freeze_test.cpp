// Frozen modules compute what they computed before.
#include <gtest/gtest.h>

#include "sconce/dispatch/registry.h"
#include "sconce/frontend/script/program/program.h"
#include "sconce/ir/verifier.h"
#include "sconce/passes/freeze/freeze_module.h"
#include "sconce/runtime/interpreter.h"
#include "sconce/testing/error_of.h"
#include "sconce/types/class_info.h"

namespace sconce::testing {
namespace {

void set_training(Object& module, bool training) {
  const std::vector<ClassInfo::Attribute>& attributes = module.type()->class_info()->attributes;
  for (size_t i = 0; i < attributes.size(); ++i) {
    if (attributes[i].name == "training") module.set_slot(i, training);
    if (module.slot(i).is_object()) set_training(module.slot(i).to_object(), training);
  }
}

Value call(const Value& module, const Value& x) {
  ir::Function* forward = ir::find_method(module.to_object().type(), "forward");
  std::vector<Value> args{module, x};
  return runtime::run(*forward, args);
}

size_t count(const ir::Graph& graph, const char* kind) {
  size_t n = 0;
  for (const ir::Node* node : graph.nodes()) n += node->is(ir::Symbol(kind));
  return n;
}

constexpr const char* kNet = R"(
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self, n: int, m: int):
        super().__init__()
        self.conv = nn.Conv2d(n, m, 3, padding=1)
        self.bn = nn.BatchNorm2d(m)
        self.relu = nn.ReLU()

    def forward(self, x):
        return self.relu(self.bn(self.conv(x)))

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(Block(3, 4), Block(4, 8))
        self.drop = nn.Dropout(0.5)
        self.head = nn.Linear(8, 2)
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        x = self.blocks(x).mean([2, 3])
        return self.head(self.drop(x)) * self.calls
)";

TEST(FreezeProgram, ConvolutionsWithBatchNorm) {
  script::Program program(kNet);
  const Value net = program.build_module("Net");
  const Value x = call_op("aten::randn", {IntList({2, 3, 6, 6})}).at(0);
  for (int i = 0; i < 3; ++i) call(net, x);  // running statistics that are not 0 and 1
  EXPECT_ERROR(passes::freeze(program.unit(), net), "in eval mode");
  set_training(net.to_object(), false);

  const Value frozen = passes::freeze(program.unit(), net);
  ir::Function* forward = ir::find_method(frozen.to_object().type(), "forward");
  ir::verify(*forward->graph());
  EXPECT_EQ(count(*forward->graph(), "aten::batch_norm"), 0u);
  EXPECT_EQ(count(*forward->graph(), "aten::dropout"), 0u);
  EXPECT_EQ(count(*forward->graph(), "aten::conv2d"), 2u);
  EXPECT_EQ(count(*forward->graph(), "prim::GetAttr"), 2u);  // calls, before and after it was set
  ASSERT_EQ(frozen.to_object().type()->class_info()->attributes.size(), 1u);
  EXPECT_EQ(frozen.to_object().attr("calls").to_int(), 3);

  const Value expected = call(net, x), got = call(frozen, x);
  EXPECT_TRUE(call_op("aten::allclose", {got, expected, 1e-5, 1e-5}).at(0).to_bool());
  EXPECT_EQ(frozen.to_object().attr("calls").to_int(), 4);
}

std::string attributes_of(const Value& module) {
  std::string names;
  for (const ClassInfo::Attribute& a : module.to_object().type()->class_info()->attributes) {
    names += (names.empty() ? "" : " ") + a.name;
  }
  return names;
}

// Which attributes stay, of modules with `forward` and what their constructor sets: as PyTorch's freeze leaves them.
std::string kept_by(const std::string& constructor, const std::string& forward) {
  const auto indented = [](const std::string& text) {
    std::string out;
    for (size_t at = 0; at < text.size();) {
      const size_t end = std::min(text.find('\n', at), text.size());
      out += "        " + text.substr(at, end - at) + "\n";
      at = end + 1;
    }
    return out;
  };
  script::Program program(
      "import torch\nfrom torch import nn\nfrom typing import List\n"
      "class Pair:\n    def __init__(self, t: Tensor):\n        self.t = t\n\n"
      "class Inner(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
      "        self.weight = nn.Parameter(torch.ones(2))\n        self.register_buffer('seen', torch.zeros(2))\n\n"
      "    def forward(self, x):\n        self.seen += 1\n        return x * self.weight + self.seen\n\n"
      "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n" +
      indented(constructor) + "\n    def forward(self, x: Tensor):\n" + indented(forward));
  const Value net = program.build_module("Net");
  set_training(net.to_object(), false);
  const Value frozen = passes::freeze(program.unit(), net);
  ir::verify(*ir::find_method(frozen.to_object().type(), "forward")->graph());
  const Value x = call_op("aten::ones", {IntList({2})}).at(0);
  for (int i = 0; i < 2; ++i) {  // both change what they share
    const Value before = call(net, call_op("aten::clone", {x}).at(0));
    const Value after = call(frozen, call_op("aten::clone", {x}).at(0));
    EXPECT_TRUE(before.is_tensor() && after.is_tensor());
  }
  std::string names = attributes_of(frozen);
  if (frozen.to_object().type()->class_info()->find("inner") >= 0) {
    names += " (" + attributes_of(frozen.to_object().attr("inner")) + ")";
  }
  return names;
}

TEST(FreezeProgram, KeepsOnlyWhatIsWritten) {
  const std::string two = "self.a = nn.Parameter(torch.ones(2))\nself.register_buffer('b', torch.zeros(2))";
  EXPECT_EQ(kept_by(two, "return x * self.a + self.b"), "");
  EXPECT_EQ(kept_by(two, "self.b += 1\nreturn x * self.a + self.b"), "b");
  EXPECT_EQ(kept_by(two, "self.b[0].add_(x[0])\nreturn x * self.a + self.b"), "b");
  EXPECT_EQ(kept_by(two, "v = self.b.view(2, 1)\nv.zero_()\nreturn x * self.a"), "b");
  EXPECT_EQ(kept_by(two, "x += 1\nreturn x * self.a + self.b"), "");
  EXPECT_EQ(kept_by(two, "self.b = self.b + x\nreturn x * self.a + self.b"), "b");
  // One or the other: both.
  EXPECT_EQ(kept_by(two + "\nself.c = torch.ones(2)",
                    "v = self.a.detach() if bool(x[0] > 0) else self.b\nv.add_(1)\nreturn x * self.c"),
            "a b");
  // A module inside: it stays, with its buffer alone.
  EXPECT_EQ(kept_by(two + "\nself.inner = Inner()", "return self.inner(x) * self.a + self.b"), "inner (seen)");
  // Under another name.
  EXPECT_EQ(kept_by("self.a = torch.ones(2)\nself.b = self.a\nself.c = torch.ones(2)",
                    "self.b += 1\nreturn x * self.a + self.c"),
            "a b");
  EXPECT_EQ(kept_by(two + "\nself.c = torch.ones(2)", "self.c = self.b\nself.c += 1\nreturn x * self.a + self.b"),
            "b c");
  // In a list, and beside it.
  EXPECT_EQ(kept_by("self.a = torch.ones(2)\nself.l = [torch.ones(2), torch.ones(2)]",
                    "self.l[0] += 1\nreturn x * self.a + self.l[1]"),
            "l");
  EXPECT_EQ(kept_by("self.a = torch.ones(2)\nself.l = [self.a]", "self.l[0] += 1\nreturn x * self.a"), "a l");
}

TEST(FreezeProgram, NumericsCanBeLeftAlone) {
  script::Program program(kNet);
  const Value net = program.build_module("Net");
  set_training(net.to_object(), false);
  const Value frozen = passes::freeze(program.unit(), net, {.preserved = {}, .fold_numerics = false});
  EXPECT_EQ(count(*ir::find_method(frozen.to_object().type(), "forward")->graph(), "aten::batch_norm"), 2u);
  const Value x = call_op("aten::randn", {IntList({2, 3, 6, 6})}).at(0);
  EXPECT_TRUE(call_op("aten::equal", {call(frozen, x), call(net, x)}).at(0).to_bool());
}

}  // namespace
}  // namespace sconce::testing
