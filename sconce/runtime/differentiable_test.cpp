// Scripted functions give the same gradients, of first and second order, with regions and recorded one by one.
#include "sconce/runtime/differentiable.h"

#include <cmath>

#include <gtest/gtest.h>

#include "sconce/autograd/engine.h"
#include "sconce/autograd/variable.h"
#include "sconce/frontend/script/program.h"
#include "sconce/ops.h"
#include "sconce/runtime/interpreter.h"
#include "sconce/tensor/grad_mode.h"

namespace sconce::runtime {
namespace {

// Switches regions off for a scope.
struct OneByOne {
  OneByOne() { set_autodiff_enabled(false); }
  ~OneByOne() { set_autodiff_enabled(true); }
};

struct Result {
  std::vector<Tensor> values, first, second;
  std::string made_by;  // the node of the first value
};

void add_tensors(const Value& v, std::vector<Tensor>& to) {
  if (v.is_tensor()) to.push_back(v.to_tensor());
  if (v.is_tuple()) {
    for (const Value& item : v.to_tuple().items) add_tensors(item, to);
  }
  if (v.is_list()) {
    for (const Value& item : v.to_list().values()) add_tensors(item, to);
  }
}

// Sum of f(t) over those that require grad; undefined when none does.
template <class F>
Tensor total(const std::vector<Tensor>& all, F&& f) {
  Tensor sum;
  for (const Tensor& t : all) {
    if (t.defined() && t.requires_grad()) sum = sum.defined() ? add(sum, sconce::sum(f(t))) : sconce::sum(f(t));
  }
  return sum;
}

// Tensor arguments are new leaves, ints are 5, floats 0.5, bools true.
Result call(ir::Function& f) {
  Result r;
  std::vector<Value> args;
  std::vector<Tensor> leaves;
  manual_seed(7);
  for (const Argument& a : f.schema().arguments) {
    if (a.type->is(TypeKind::tensor)) {
      leaves.push_back(randn({4, 4}, DType::float64));
      autograd::set_requires_grad(leaves.back(), true);
      args.emplace_back(leaves.back());
    } else if (a.type->is(TypeKind::int_)) {
      args.emplace_back(5);
    } else if (a.type->is(TypeKind::float_)) {
      args.emplace_back(0.5);
    } else {
      args.emplace_back(true);
    }
  }
  manual_seed(3);
  add_tensors(run(f, args), r.values);
  if (autograd::grad_fn(r.values.at(0))) r.made_by = autograd::grad_fn(r.values[0])->name();
  autograd::GradOptions options;
  options.create_graph = options.allow_unused = true;
  const Tensor loss = total(r.values, [](const Tensor& t) { return mul(t, sin(t)); });
  if (!loss.defined()) return r;
  r.first = autograd::grad({loss}, leaves, {}, options);
  const Tensor again = total(r.first, [](const Tensor& t) { return mul(t, t); });
  options.create_graph = false;
  if (again.defined()) r.second = autograd::grad({again}, leaves, {}, options);
  return r;
}

void expect_close(const std::vector<Tensor>& got, const std::vector<Tensor>& wanted, const char* what) {
  ASSERT_EQ(got.size(), wanted.size()) << what;
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(got[i].defined(), wanted[i].defined()) << what << " " << i;
    if (!got[i].defined()) continue;
    const NoGrad off;
    EXPECT_TRUE(allclose(got[i], wanted[i], 1e-9, 1e-9, true)) << what << " " << i;
  }
}

void expect_same_gradients(ir::Function& f, bool in_region = true) {
  SCOPED_TRACE(f.name());
  Result expected;
  {
    const OneByOne off;
    expected = call(f);
  }
  for (int round = 0; round < 2; ++round) {  // the first may be recorded one by one
    const Result got = call(f);
    expect_close(got.values, expected.values, "value");
    expect_close(got.first, expected.first, "gradient");
    expect_close(got.second, expected.second, "second gradient");
    if (round == 0 || !in_region) continue;
    EXPECT_EQ(got.made_by, "DifferentiableGraphBackward");
  }
}

void expect_same_gradients(const char* source, bool in_region = true) {
  const script::Program program(source);
  for (const std::string& name : program.function_names())
    expect_same_gradients(*program.find_function(name), in_region);
}

TEST(Differentiable, StraightCode) {
  expect_same_gradients(R"(
def pointwise(x: Tensor, w: Tensor):
    return torch.tanh(x * w + x).exp() / (w.sigmoid() + 2)

def broadcast(x: Tensor, w: Tensor):
    row = w[0] * 3
    return (x * row + row.sum()).relu() * x

def products(x: Tensor, w: Tensor, b: Tensor):
    return torch.nn.functional.linear(x, w, b[0]).softmax(-1).matmul(x)

def reductions(x: Tensor, w: Tensor):
    y = x * w
    return y.sum(1), y.mean(), y.amax(0), (y * y).sum().sqrt()

def shapes(x: Tensor, w: Tensor):
    y = (x * w).t().reshape(2, 8)
    return torch.cat([y, y * 2], 1).view(4, 8).narrow(1, 2, 4) * x

def parts(x: Tensor, w: Tensor):
    a, b = (x * w).chunk(2, 1)
    return a.sigmoid() * b.tanh()

def unused(x: Tensor, w: Tensor):
    a, b, c, d = (x * w).chunk(4, 0)
    return b * c.exp()

def mixed(x: Tensor, w: Tensor):
    y = x * w
    return torch.where(y > 0, y, y * 0.1) * (y.detach() + 1)
)");
}

TEST(Differentiable, ControlFlow) {
  expect_same_gradients(R"(
def branch(x: Tensor, w: Tensor):
    if bool(x.sum() > 0):
        y = x * w
    else:
        y = torch.sin(x)
    return y * x

def loop(x: Tensor, w: Tensor, n: int):
    y = x
    for i in range(n):
        y = (y * w).tanh()
        if i % 2 == 1:
            y = y + x
    return y * y

def stops(x: Tensor, w: Tensor, n: int):
    y = x
    i = 0
    while bool(y.abs().sum() < 1e6) and i < n:
        y = y * y + w
        i += 1
        if bool(y.sum() > 1000):
            break
    return y.exp().log1p() + y

def nested(x: Tensor, w: Tensor, n: int):
    y = x
    for i in range(n):
        z = w
        for j in range(i):
            z = (z * x).sin()
            if j == 2:
                z = z + y
        y = y + z * 0.5
    return y.tanh()

def returns_early(x: Tensor, w: Tensor, n: int):
    y = x * w
    if n > 3:
        return y.tanh() * x
    return y.sigmoid()

def no_iterations(x: Tensor, w: Tensor, n: int):
    y = x * w
    for i in range(n - 5):
        y = y.sin() * w
    return y.cos() * x
)");
}

TEST(Differentiable, WhatStaysOutside) {
  expect_same_gradients(R"(
def lists(x: Tensor, w: Tensor, n: int):
    out: List[Tensor] = []
    h = x
    for i in range(n):
        h = (h * w).tanh()
        out.append(h)
    return torch.stack(out).sum(0) * h

def in_place(x: Tensor, w: Tensor):
    y = (x * w).sin()
    y.mul_(x)
    return y.exp() * w

def views(x: Tensor, w: Tensor):
    y = (x * w).sin()
    z = y[0]
    z.mul_(2)
    return y.cos() * x

def no_grad(x: Tensor, w: Tensor):
    with torch.no_grad():
        scale = (x * w).exp().sum()
    return (x * w).tanh() * scale
)",
                        false);
}

TEST(Differentiable, RandomNumbersAreDrawnOnce) {
  expect_same_gradients(R"(
def drops(x: Tensor, w: Tensor):
    y = torch.nn.functional.dropout(x * w, 0.5, True)
    return y.tanh() * x
)");
}

TEST(Differentiable, AnArgumentThatIsGivenBackKeepsItsHistory) {
  const script::Program program(R"(
def f(x: Tensor, w: Tensor, c: bool):
    if c:
        y = x
    else:
        y = (x * w).sin()
    return y, (x * w).cos() * w
)");
  ir::Function& f = *program.find_function("f");
  for (int i = 0; i < 3; ++i) {
    const Tensor x = ones({2}), w = ones({2});
    autograd::set_requires_grad(w, true);
    std::vector<Value> args{x, w, true};
    const Value out = run(f, args);
    EXPECT_TRUE(out.to_tuple().items[0].to_tensor().is_same(x));
    EXPECT_FALSE(x.requires_grad());
    EXPECT_TRUE(out.to_tuple().items[1].to_tensor().requires_grad());
  }
}

TEST(Differentiable, CapturesOfWrittenTensorsAreNoticed) {
  const script::Program program("def f(x: Tensor, w: Tensor):\n    return (x * w).sin() * w\n");
  ir::Function& f = *program.find_function("f");
  for (int i = 0; i < 2; ++i) {
    const Tensor x = ones({2}), w = ones({2});
    autograd::set_requires_grad(w, true);
    std::vector<Value> args{x, w};
    const Tensor y = run(f, args).to_tensor();
    add_(x, 1);
    try {
      autograd::backward({sum(y)});
      FAIL() << "it should have noticed the write";
    } catch (const Error& e) {
      EXPECT_NE(e.message().find("has been modified by an inplace operation"), std::string::npos) << e.message();
    }
  }
}

TEST(Differentiable, BackwardRunsOnce) {
  const script::Program program("def f(x: Tensor, w: Tensor):\n    return (x * w).sin() * w\n");
  ir::Function& f = *program.find_function("f");
  for (int i = 0; i < 2; ++i) {
    const Tensor x = ones({2}), w = ones({2});
    autograd::set_requires_grad(w, true);
    std::vector<Value> args{x, w};
    const Tensor y = sum(run(f, args).to_tensor());
    autograd::backward({y});
    EXPECT_THROW(autograd::backward({y}), Error);
  }
}

}  // namespace
}  // namespace sconce::runtime
