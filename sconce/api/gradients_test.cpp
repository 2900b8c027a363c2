// Gradients in programs: scripts that run backward themselves, and scripts called with tensors that require grad. The
// values are those of PyTorch 2.13, eager and scripted.
#include <gtest/gtest.h>

#include "sconce/api/asks_for_gradients.h"
#include "sconce/api/jit.h"
#include "sconce/autograd/backward.h"
#include "sconce/autograd/variable.h"
#include "sconce/generated/creation.h"
#include "sconce/generated/reduction.h"
#include "sconce/tensor/grad_mode.h"
#include "sconce/testing/error_of.h"

namespace sconce::jit {
namespace {

constexpr const char* kHelpers = R"(
def ar(n: int) -> Tensor:
    return torch.arange(1, n + 1, dtype=torch.float32)

def leaf(n: int) -> Tensor:
    return ar(n).requires_grad_()

def got(x: Tensor) -> Tensor:
    g = x.grad
    assert g is not None
    return g
)";

// What `f` of the program gives, when it runs first and when it runs again.
std::string result(const std::string& program) {
  const CompilationUnit unit = compile(kHelpers + program);
  const std::string first = unit.function("f")().repr();
  EXPECT_EQ(unit.function("f")().repr(), first);
  return first;
}

TEST(ProgramGradients, loops) {
  EXPECT_EQ(result(R"(
def f() -> Tensor:
    x = leaf(3)
    y = x
    for i in range(3):
        y = y * x + i
    y.sum().backward()
    return got(x)
)"),
            "tensor([  5.,  33., 109.])");
}

TEST(ProgramGradients, branches) {
  EXPECT_EQ(result(R"(
def f() -> Tensor:
    x = leaf(4)
    y = torch.zeros(1)
    for i in range(4):
        if bool(x[i] > 2):
            y = y + x[i] * x[i]
        else:
            y = y - x[i]
    y.sum().backward()
    return got(x)
)"),
            "tensor([-1., -1.,  6.,  8.])");
}

TEST(ProgramGradients, inplace) {
  EXPECT_EQ(result(R"(
def f() -> Tensor:
    x = leaf(3)
    y = x * 2
    y.mul_(x)
    y += 1
    y.relu_()
    y.sum().backward()
    return got(x)
)"),
            "tensor([ 4.,  8., 12.])");
}

TEST(ProgramGradients, slices) {
  EXPECT_EQ(result(R"(
def f() -> Tensor:
    x = leaf(3)
    out = torch.zeros(3, 2)
    for i in range(3):
        out[i] = x[i] * x[i]
    (out * torch.arange(6).view(3, 2)).sum().backward()
    return got(x)
)"),
            "tensor([ 2., 20., 54.])");
}

TEST(ProgramGradients, views_before_history) {
  EXPECT_EQ(result(R"(
def f() -> Tensor:
    w = leaf(3)
    x = torch.ones(3)
    v = x.view(3, 1)
    x.mul_(w)
    (v * v).sum().backward()
    return got(w)
)"),
            "tensor([2., 4., 6.])");
}

TEST(ProgramGradients, lists) {
  EXPECT_EQ(result(R"(
def f() -> Tensor:
    x = leaf(3)
    l: List[Tensor] = []
    for i in range(3):
        l.append(x * float(i))
    s = torch.stack(l)
    torch.cat([s, s * s]).sum().backward()
    return got(x)
)"),
            "tensor([13., 23., 33.])");
}

TEST(ProgramGradients, dicts) {
  EXPECT_EQ(result(R"(
def f() -> Tensor:
    x = leaf(2)
    d: Dict[str, Tensor] = {"a": x * 2, "b": x * x}
    (d["a"] * d["b"]).sum().backward()
    return got(x)
)"),
            "tensor([ 6., 24.])");
}

TEST(ProgramGradients, modes) {
  EXPECT_EQ(result(R"(
def f() -> Tuple[bool, bool, bool, bool]:
    x = leaf(2)
    with torch.no_grad():
        y = x * 2
        with torch.enable_grad():
            z = x * 2
    w = x * 2
    return y.requires_grad, z.requires_grad, w.requires_grad, torch.is_grad_enabled()
)"),
            "(False, True, True, True)");
}

TEST(ProgramGradients, detached) {
  EXPECT_EQ(result(R"(
def f() -> Tensor:
    x = leaf(3)
    y = x * x.detach()
    y.sum().backward()
    return got(x)
)"),
            "tensor([1., 2., 3.])");
}

TEST(ProgramGradients, autograd_grad) {
  EXPECT_EQ(result(R"(
def f() -> Tuple[Tensor, Tensor]:
    x = leaf(3)
    y = leaf(3)
    z = (x * y * y).sum()
    gs = torch.autograd.grad([z], [x, y])
    a = gs[0]
    b = gs[1]
    assert a is not None and b is not None
    return a, b
)"),
            "(tensor([1., 4., 9.]), tensor([ 2.,  8., 18.]))");
}

TEST(ProgramGradients, second_derivatives) {
  EXPECT_EQ(result(R"(
def f() -> Tensor:
    x = leaf(3)
    z = (x * x * x).sum()
    g = torch.autograd.grad([z], [x], create_graph=True)[0]
    assert g is not None
    h = torch.autograd.grad([g.sum()], [x])[0]
    assert h is not None
    return h
)"),
            "tensor([ 6., 12., 18.])");
}

TEST(ProgramGradients, gradients_of_outputs) {
  EXPECT_EQ(result(R"(
def f() -> Tensor:
    x = leaf(3)
    go: List[Optional[Tensor]] = [torch.ones(3) * 5]
    g = torch.autograd.grad([x * x], [x], go)[0]
    assert g is not None
    return g
)"),
            "tensor([10., 20., 30.])");
}

TEST(ProgramGradients, unused_inputs) {
  EXPECT_EQ(result(R"(
def f() -> bool:
    x = leaf(3)
    y = leaf(3)
    g = torch.autograd.grad([x.sum()], [x, y], allow_unused=True)
    return g[1] is None
)"),
            "True");
}

TEST(ProgramGradients, autograd_backward) {
  EXPECT_EQ(result(R"(
def f() -> Tensor:
    x = leaf(3)
    torch.autograd.backward([(x * 2).sum(), (x * x).sum()])
    return got(x)
)"),
            "tensor([4., 6., 8.])");
}

TEST(ProgramGradients, backward_with_gradient) {
  EXPECT_EQ(result(R"(
def f() -> Tensor:
    x = leaf(3)
    (x * x).backward(torch.ones(3) * 2)
    return got(x)
)"),
            "tensor([ 4.,  8., 12.])");
}

TEST(ProgramGradients, graph_is_kept) {
  EXPECT_EQ(result(R"(
def f() -> Tensor:
    x = leaf(3)
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    return got(x)
)"),
            "tensor([ 4.,  8., 12.])");
}

TEST(ProgramGradients, retained) {
  EXPECT_EQ(result(R"(
def f() -> Tensor:
    x = leaf(3)
    y = x * 2
    y.retain_grad()
    (y * y).sum().backward()
    return got(y)
)"),
            "tensor([ 4.,  8., 12.])");
}

TEST(ProgramGradients, constructors) {
  EXPECT_EQ(result(R"(
def f() -> Tensor:
    x = torch.tensor([1., 2.], requires_grad=True)
    s = torch.tensor(3., requires_grad=True)
    (x * s).sum().backward()
    return torch.cat([got(x), got(s).view(1)])
)"),
            "tensor([3., 3., 3.])");
}

TEST(ProgramGradients, data) {
  EXPECT_EQ(result(R"(
def f() -> Tensor:
    x = leaf(3)
    x.data.mul_(2)
    (x * x).sum().backward()
    return got(x)
)"),
            "tensor([ 4.,  8., 12.])");
}

TEST(ProgramGradients, numbers) {
  EXPECT_EQ(result(R"(
def f() -> float:
    x = leaf(1)
    return float(x) + x.item() + float(int(x))
)"),
            "3.0");
}

TEST(ProgramGradients, accumulates) {
  EXPECT_EQ(result(R"(
def f() -> Tensor:
    x = leaf(2)
    (x * 2).sum().backward()
    a = got(x).clone()
    (x * x).sum().backward()
    b = got(x)
    return torch.stack([a, b])
)"),
            "tensor([[2., 2.],\n        [4., 6.]])");
}

TEST(ProgramGradients, equal_expressions_stay_apart_when_written) {
  EXPECT_EQ(result(R"(
def f() -> Tensor:
    x = leaf(2)
    a = x * 3
    b = x * 3
    a.mul_(2)
    (a * b).sum().backward()
    return got(x)
)"),
            "tensor([36., 72.])");
}

TEST(ProgramGradients, while_loops) {
  EXPECT_EQ(result(R"(
def f() -> Tensor:
    x = leaf(2)
    y = x
    while bool(y.sum() < 100):
        y = y * 2 + x
    y.sum().backward()
    return got(x)
)"),
            "tensor([63., 63.])");
}

TEST(ProgramGradients, detached_in_place) {
  EXPECT_EQ(result(R"(
def f() -> Tuple[bool, bool]:
    x = leaf(2)
    y = x * 2
    y.detach_()
    return y.requires_grad, y.is_leaf
)"),
            "(False, True)");
}

TEST(ProgramGradients, dead_results_stay_apart) {
  EXPECT_EQ(result(R"(
def f() -> Tensor:
    x = leaf(2)
    y = x * 2
    z = y * 3
    y.add_(1)
    (y * y).sum().backward()
    return got(x)
)"),
            "tensor([12., 20.])");
}

TEST(ProgramGradients, chunks) {
  EXPECT_EQ(result(R"(
def f() -> Tensor:
    x = leaf(4)
    a, b = x.chunk(2)
    c, d = torch.split(x, 2)
    (a * b + c * c * d).sum().backward()
    return got(x)
)"),
            "tensor([ 9., 20.,  2.,  6.])");
}

TEST(ProgramGradients, several_results) {
  EXPECT_EQ(result(R"(
def f() -> Tensor:
    x = leaf(3)
    v, i = torch.max(x * x, 0)
    m = torch.sort(x)[0]
    (v + m.sum()).backward()
    return got(x)
)"),
            "tensor([1., 1., 7.])");
}

TEST(ProgramGradients, training_steps) {
  EXPECT_EQ(result(R"(
def f() -> Tensor:
    w = torch.ones(3).requires_grad_()
    x = ar(3)
    for i in range(5):
        loss = ((w * x - 2) ** 2).sum()
        loss.backward()
        with torch.no_grad():
            w.sub_(0.01 * got(w))
            got(w).zero_()
    return w.detach()
)"),
            "tensor([1.0961, 1.0000, 0.7902])");
}

TEST(ProgramGradients, read_twice) {
  EXPECT_EQ(result(R"(
def f() -> Tensor:
    x = leaf(2)
    (x * x).sum().backward()
    a = got(x).sum()
    (x * x).sum().backward()
    b = got(x).sum()
    return torch.stack([a, b])
)"),
            "tensor([ 6., 12.])");
}

TEST(ProgramGradients, inplace_in_branches) {
  EXPECT_EQ(result(R"(
def f() -> Tensor:
    x = leaf(3)
    y = x * 2
    if bool(y.sum() > 1):
        y.mul_(x)
    else:
        y.add_(1)
    for i in range(2):
        y[i] += x[2]
    y.sum().backward()
    return got(x)
)"),
            "tensor([ 4.,  8., 14.])");
}

TEST(ProgramGradients, changed_lists) {
  EXPECT_EQ(result(R"(
def f() -> Tensor:
    x = leaf(3)
    l = [x * 1, x * 2]
    l[0].add_(x)
    l[1] = l[0] * l[1]
    torch.stack(l).sum().backward()
    return got(x)
)"),
            "tensor([10., 18., 26.])");
}

TEST(ProgramGradients, masked_assignment) {
  EXPECT_EQ(result(R"(
def f() -> Tensor:
    x = leaf(4)
    y = x * 1
    y[y > 2] = 0
    y[torch.tensor([0])] = x[3] * x[3]
    (y * x).sum().backward()
    return got(x)
)"),
            "tensor([16.,  4.,  0.,  8.])");
}

TEST(ProgramGradients, questions_decide) {
  EXPECT_EQ(result(R"(
def f() -> Tensor:
    x = leaf(3)
    y = x.detach() * 2
    if y.requires_grad:
        y = y * 100
    z = x * y
    if z.requires_grad:
        z = z * 3
    z.sum().backward()
    return got(x)
)"),
            "tensor([ 6., 12., 18.])");
}

TEST(ProgramGradients, views_in_lists) {
  EXPECT_EQ(result(R"(
def f() -> Tensor:
    x = leaf(6)
    y = (x * 1).view(3, 2)
    rows: List[Tensor] = []
    for i in range(3):
        r = y[i]
        r.mul_(float(i))
        rows.append(r)
    (torch.stack(rows) * y).sum().backward()
    return got(x)
)"),
            "tensor([ 0.,  0.,  6.,  8., 40., 48.])");
}

TEST(ProgramGradients, forks) {
  EXPECT_EQ(result(R"(
def mulit(x: Tensor) -> Tensor:
    return x * x

def f() -> Tensor:
    x = leaf(3)
    a = torch.jit.fork(mulit, x)
    b = torch.jit.fork(mulit, x * 2)
    (torch.jit.wait(a) + torch.jit.wait(b)).sum().backward()
    return got(x)
)"),
            "tensor([10., 20., 30.])");
}

TEST(ProgramGradients, written_without_grad) {
  EXPECT_EQ(result(R"(
def f() -> Tensor:
    x = leaf(4)
    with torch.no_grad():
        s = (x * x).sum()
        x.add_(1)
    (x * s).sum().backward()
    return got(x)
)"),
            "tensor([30., 30., 30., 30.])");
}

TEST(ProgramGradients, statistics) {
  EXPECT_EQ(result(R"(
def f() -> Tensor:
    x = leaf(4)
    n = (x - x.mean()) / x.std()
    n[0] *= 2
    (n ** 3).sum().backward()
    return got(x)
)"),
            "tensor([  7.9822, -10.1782,  -3.5903,   5.7862])");
}

TEST(ProgramGradients, of_arguments) {
  const CompilationUnit unit = compile(R"(
import torch
from typing import List

def f(x, w, n: int):
    rows: List[torch.Tensor] = []
    for i in range(n):
        x = torch.tanh(x * w + i)
        if i % 2 == 0:
            rows.append(x)
        else:
            x = x.clone()
            x[0] = w[0] * 2
    y = torch.stack(rows)
    y += 1
    return y.sum()
)");
  const auto gradients = [&] {
    const Tensor x = full({2}, 0.5), w = full({2}, 0.25);
    autograd::set_requires_grad(x, true);
    autograd::set_requires_grad(w, true);
    autograd::backward({unit.function("f")(x, w, 5).to_tensor()});
    return autograd::grad(x).to_string() + autograd::grad(w).to_string();
  };
  const std::string first = gradients();
  EXPECT_EQ(first, "tensor([0.2461, 0.2464])tensor([0.5488, 0.5319])");
  EXPECT_EQ(gradients(), first);
  const NoGrad off;
  EXPECT_FALSE(unit.function("f")(ones({2}), ones({2}), 2).to_tensor().requires_grad());
}

TEST(ProgramGradients, of_parameters) {
  CompilationUnit unit = compile(R"(
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(2, 3, bias=False)
        self.second = nn.Linear(3, 1)
        nn.init.constant_(self.first.weight, 0.5)
        nn.init.constant_(self.second.weight, 0.25)

    def forward(self, x):
        return self.second(torch.relu(self.first(x)))
)");
  const Module net = unit.module("Net");
  for (int i = 0; i < 2; ++i) autograd::backward({sum(net(ones({4, 2})).to_tensor())});
  std::string all;
  for (const auto& [name, parameter] : net.named_parameters()) {
    EXPECT_TRUE(parameter.requires_grad() && autograd::is_leaf(parameter)) << name;
    all += name + " " + autograd::grad(parameter).to_string() + "\n";
  }
  EXPECT_EQ(all,
            "first.weight tensor([[2., 2.],\n        [2., 2.],\n        [2., 2.]])\n"
            "second.weight tensor([[8., 8., 8.]])\n"
            "second.bias tensor([8.])\n");
  const InferenceMode mode;
  EXPECT_FALSE(net(ones({4, 2})).to_tensor().requires_grad());
}

TEST(ProgramGradients, leaf_written_by_a_program) {
  const CompilationUnit unit = compile("def f(x):\n    x.mul_(2)\n    return x\n");
  const Tensor x = ones({2});
  autograd::set_requires_grad(x, true);
  EXPECT_ERROR(unit.function("f")(x), "a leaf Variable that requires grad is being used in an in-place operation.");
}

TEST(ProgramGradients, programs_that_ask_for_them) {
  const auto asks = [](const char* text) { return asks_for_gradients(compile(text).function("f")); };
  EXPECT_FALSE(asks("def f(x):\n    return x * 2\n"));
  EXPECT_TRUE(
      asks("def g(x):\n    x.sum().backward()\n\ndef f(x):\n    if bool(x[0] > 1):\n        g(x)\n    return x\n"));
}

TEST(ProgramGradients, copies_of_parameters_are_leaves) {
  const Module net = compile(R"(
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(2))

    def forward(self, x):
        return x * self.weight
)")
                         .module("Net");
  autograd::backward({sum(net(ones({2})).to_tensor())});
  const Module copy = net.deepcopy();
  const Tensor weight = copy.parameters()[0];
  EXPECT_TRUE(weight.requires_grad() && autograd::is_leaf(weight));
  EXPECT_EQ(autograd::grad(weight).to_string(), "tensor([1., 1.])");
  autograd::backward({sum(copy(ones({2})).to_tensor())});
  EXPECT_EQ(autograd::grad(net.parameters()[0]).to_string(), "tensor([1., 1.])");
}

}  // namespace
}  // namespace sconce::jit
