// Scripted functions give the same gradients, of first and second order, with regions and recorded one by one.
#include "sconce/runtime/plans/differentiable_region.h"

#include <set>

#include "sconce/autograd/graph/recompute.h"
#include "sconce/autograd/graph/saved_tensor.h"
#include "sconce/frontend/script/program/program.h"
#include "sconce/lowering/autodiff.h"
#include "sconce/passes/passes.h"
#include "sconce/runtime/bytecode/graph_code.h"
#include "sconce/runtime/interpreter.h"
#include "sconce/runtime/test_gradients.h"
#include "sconce/tensor/memory/allocator_stats.h"
#include "sconce/testing/error_of.h"

namespace sconce::runtime {
namespace {

// Tensor arguments are new leaves, ints are 5, floats 0.5, bools true.
void check_function(ir::Function& f, bool in_region) {
  SCOPED_TRACE(f.name());
  const auto call = [&](std::vector<Tensor>& leaves) {
    std::vector<Value> args;
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
    return run(f, args);
  };
  expect_same_gradients(call, in_region);
}

void check_program(const char* source, bool in_region = true) {
  const script::Program program(source);
  for (const std::string& name : program.function_names()) check_function(*program.find_function(name), in_region);
}

// Note [Captures that are computed again]: the same gradients, of first and second order, with one tensor less in
// memory.
TEST(Differentiable, ComputesLargeCapturesAgain) {
  const script::Program program(R"(
def gelus(x: Tensor, w: Tensor, v: Tensor):
    return torch.mm(torch.nn.functional.gelu(torch.mm(x, w)), v)

def reshaped(x: Tensor, w: Tensor, n: int):
    y = torch.nn.functional.silu(x * w)
    if n > 3:
        z = torch.mm(y.view(2, 8), y.view(8, 2)).sum() * w
    else:
        z = torch.mm(y, w)
    return z * y

def returned(x: Tensor, w: Tensor):
    y = torch.nn.functional.gelu(x * w)
    return y, torch.mm(y, w)
)");
  const int64_t before = autograd::set_recompute_bytes(0);
  for (const std::string& name : program.function_names()) check_function(*program.find_function(name), true);
  const auto held = [&](int64_t bytes) {
    autograd::set_recompute_bytes(bytes);
    const Tensor x = ones({512, 512}), w = ones({512, 512});
    autograd::set_requires_grad(w, true);
    const size_t start = allocator_stats().used;
    std::vector<Value> args{x, w, w};
    const Value loss = run(*program.find_function("gelus"), args);
    return allocator_stats().used - start;
  };
  const size_t all = held(-1), fewer = held(0);
  autograd::set_recompute_bytes(before);
#ifdef SCONCE_NO_POOLS  // the sanitizers' builds: objects of tensors are counted, too
  EXPECT_NEAR(static_cast<double>(all - fewer), 512 * 512 * 4, 4096);
#else
  EXPECT_EQ(all - fewer, size_t{512} * 512 * 4);
#endif
}

// What others can write stays as it is, and so does what follows from it: the error is that of recording. f gives what
// is written to, by way of `written`, and what is differentiated.
void expect_write_is_seen(const char* text, Tensor (*written)(const Value&)) {
  const script::Program program(text);
  const int64_t before = autograd::set_recompute_bytes(0);
  const Tensor x = ones({4, 4}), w = ones({4, 4});
  autograd::set_requires_grad(w, true);
  std::vector<Value> args{x, w};
  const Value results = run(*program.find_function("f"), args);
  {
    const NoGrad off;
    mul_(written(results.to_tuple().items[0]), 2);
  }
  EXPECT_ERROR(autograd::backward({sum(results.to_tuple().items[1].to_tensor())}),
               "has been modified by an inplace operation");
  autograd::set_recompute_bytes(before);
}

TEST(Differentiable, SeesWritesToWhatCapturesFollowFrom) {
  expect_write_is_seen(R"(
def f(x: Tensor, w: Tensor):
    h = x * w
    return h, torch.mm(torch.nn.functional.gelu(h), w)
)",
                       [](const Value& h) { return h.to_tensor(); });
}

TEST(Differentiable, SeesWritesToCapturesThatListsOfResultsHold) {
  expect_write_is_seen(R"(
def f(x: Tensor, w: Tensor):
    y = torch.nn.functional.gelu(x * w)
    return torch.chunk(y, 2), torch.mm(y, w)
)",
                       [](const Value& parts) { return parts.to_list().get(0).to_tensor(); });
}

// Results that are one tensor stay one: what comes behind the region may ask.
TEST(Differentiable, IdentityOfResults) {
  const script::Program program(R"(
def f(x: Tensor, w: Tensor, n: int):
    if n > 3:
        a = x * w
        b = a
    else:
        a = x + w
        b = a * 2
    return a, b
)");
  const Tensor x = ones({3}, DType::float64), w = mul(ones({3}, DType::float64), 5);
  autograd::set_requires_grad(x, true);
  for (int i = 0; i < 3; ++i) {  // the first run may be recorded one by one
    std::vector<Value> args{x, w, 5};
    const Value result = run(*program.find_function("f"), args);
    const Tensor a = result.to_tuple().items[0].to_tensor(), b = result.to_tuple().items[1].to_tensor();
    EXPECT_TRUE(a.is_same(b));
    EXPECT_TRUE(equal(autograd::grad({sum(add(mul(a, 3), b))}, {x})[0], mul(w, 4)));
  }
}

TEST(Differentiable, StraightCode) {
  check_program(R"(
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
  check_program(R"(
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

def gives_outer_values(x: Tensor, w: Tensor, n: int):
    y = x * w
    z = y.sin()
    for i in range(n):
        if i == 2:
            if n > 3:
                z = y
            else:
                z = w
        z = z * 2
    return z * x

def no_iterations(x: Tensor, w: Tensor, n: int):
    y = x * w
    for i in range(n - 5):
        y = y.sin() * w
    return y.cos() * x
)");
}

TEST(Differentiable, WhatStaysOutside) {
  check_program(R"(
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

// A list and what takes it apart, or joins it, are in one region or outside of all: gradients go through its tensors.
TEST(Differentiable, ListsThatAreMadeOutside) {
  check_program(R"(
def taken_apart(x: Tensor, y: Tensor):
    a, b = torch.broadcast_tensors([x, y])
    return (a * b).tanh() + x * 2

def joined(x: Tensor, y: Tensor):
    parts = [x.sin(), y]
    n = 3 if x.requires_grad else 2
    return (torch.cat(parts).tanh() * n).sum() + (x * y).sum()
)");
}

// linear of three dimensions is a view of a product that only the region knows.
TEST(Differentiable, ResultsThatAreViewsOfTemporariesCanBeWritten) {
  check_program(R"(
def written(x: Tensor, w: Tensor, b: Tensor):
    return torch.nn.functional.linear(x.exp().unsqueeze(0), w, b[0]).mul_(x)

def in_part(x: Tensor, w: Tensor, b: Tensor):
    y = torch.nn.functional.linear(x.exp().unsqueeze(0), w, b[0])
    z = y[0, 1]
    z.mul_(w[2])
    return y, z

def twice(x: Tensor, w: Tensor, b: Tensor):
    y = torch.nn.functional.linear(x.exp().unsqueeze(0), w, b[0])
    z = y.transpose(0, 1)
    y.mul_(x)
    z.add_(w[1])
    return y, z
)",
                false);
}

TEST(Differentiable, RandomNumbersAreDrawnOnce) {
  check_program(R"(
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

// What is saved by a chain of pointwise operators is not more than recording saves.
TEST(Differentiable, SavesNoMoreThanRecording) {
  const script::Program program(R"(
def f(x: Tensor, w: Tensor):
    y = x * w
    y = torch.tanh(y).exp().sigmoid() * w
    return torch.relu(y + x).sqrt() * 3 + 1
)");
  ir::Function& f = *program.find_function("f");
  const Tensor x = rand({1000}), w = rand({1000});
  // Bytes of the storages that were saved, each once.
  std::set<const Storage*> recorded, captured;
  const auto bytes = [](const std::set<const Storage*>& all) {
    size_t sum = 0;
    for (const Storage* s : all) sum += s->nbytes;
    return sum;
  };
  const Tensor leaf_x = clone(x), leaf_w = clone(w);
  autograd::set_requires_grad(leaf_x, true);
  autograd::set_requires_grad(leaf_w, true);
  Value kept;
  {
    const autograd::SavedTensorHooksGuard hooks({[&](const Tensor& t) {
                                                   recorded.insert(t.storage());
                                                   return Value(t);
                                                 },
                                                 [](const Value& v) { return v.to_tensor(); }});
    std::vector<Value> args{leaf_x, leaf_w};
    kept = run(f, args);
  }
  const std::shared_ptr<ir::Graph> graph = f.graph()->copy();
  passes::optimise(*graph);
  const passes::Differentiation d(graph, {true, true});
  const GraphCode code(*d.forward(), "f", nullptr, false);
  std::vector<Value> args{x, w};
  const Value results = code.run(args);
  size_t tensors = 0;
  for (size_t i = 1; i < results.to_tuple().items.size(); ++i) {
    const Value& v = results.to_tuple().items[i];
    if (!v.is_tensor()) continue;
    captured.insert(v.to_tensor().storage());
    ++tensors;
  }
  EXPECT_GT(tensors, 0u);
  EXPECT_LE(bytes(captured), bytes(recorded));
  // Every operator once, forward and backward: no recomputing, no copies.
  size_t nodes = 0;
  for (const ir::Node* node : d.forward()->nodes()) {
    nodes += node->op() && !node->outputs().empty() && node->output()->type()->is(TypeKind::tensor);
  }
  EXPECT_EQ(nodes, 10u);
}

TEST(Differentiable, HooksOfSavedTensorsSeeEveryRunAlike) {
  const script::Program program("def f(x: Tensor, w: Tensor):\n    return (x * w).sin() * w\n");
  ir::Function& f = *program.find_function("f");
  std::vector<size_t> counts;
  for (int i = 0; i < 3; ++i) {
    size_t count = 0;
    const autograd::SavedTensorHooksGuard hooks({[&](const Tensor& t) {
                                                   ++count;
                                                   return Value(t);
                                                 },
                                                 [](const Value& v) { return v.to_tensor(); }});
    const Tensor x = ones({2}), w = ones({2});
    autograd::set_requires_grad(w, true);
    std::vector<Value> args{x, w};
    autograd::backward({sum(run(f, args).to_tensor())});
    counts.push_back(count);
  }
  EXPECT_EQ(counts[0], counts[1]);
  EXPECT_EQ(counts[0], counts[2]);
}

TEST(Differentiable, ErrorsAreThoseOfTheFunction) {
  const script::Program program("def f(x: Tensor, w: Tensor):\n    y = (x * 2).sin()\n    return y * w\n");
  ir::Function& f = *program.find_function("f");
  const auto message = [&] {
    const Tensor x = ones({2}), w = ones({3});
    autograd::set_requires_grad(w, true);
    autograd::set_requires_grad(x, true);
    std::vector<Value> args{x, w};
    try {
      run(f, args);
    } catch (const Error& e) {
      return e.message();
    }
    return std::string("no error");
  };
  const std::string first = message();
  EXPECT_NE(first.find("return y * w"), std::string::npos) << first;
  for (int i = 0; i < 2; ++i) EXPECT_EQ(message(), first);
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
