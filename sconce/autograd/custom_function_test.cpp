#include "sconce/autograd/custom_function.h"

#include <gtest/gtest.h>

#include "sconce/autograd/backward.h"
#include "sconce/autograd/test_tensors.h"
#include "sconce/ops.h"
#include "sconce/tensor/grad_mode.h"
#include "sconce/testing/error_of.h"

namespace sconce::autograd {
namespace {

using sconce::testing::error_of;
using Tensors = std::vector<Tensor>;

struct Square : Function<Square> {
  static Tensor forward(Context& ctx, const Tensor& x) {
    EXPECT_FALSE(grad_enabled());
    ctx.save_for_backward({x});
    return x * x;
  }
  static Tensors backward(Context& ctx, const Tensors& grads) { return {ctx.saved()[0] * 2 * grads[0]}; }
};

TEST(Function, has_a_backward_of_its_own) {
  const Tensor x = leaf({1, 2});
  const Tensor y = Square::apply(x);
  EXPECT_EQ(grad_fn(y)->name(), "SquareBackward");
  backward({sum(y)}, {}, {.retain_graph = true});
  EXPECT_EQ(grad_text(x), "tensor([2., 4.])");
  backward({sum(y)});
  EXPECT_TRUE(error_of([&] { backward({sum(y)}); }).starts_with("Trying to backward through the graph a second time"));
}

TEST(Function, is_differentiated_twice) {
  const Tensor x = leaf({1, 2});
  GradOptions options;
  options.create_graph = true;
  const Tensor g = grad({sum(Square::apply(Square::apply(x)))}, {x}, {}, options)[0];
  EXPECT_EQ(text(g), "tensor([ 4., 32.])");
  EXPECT_EQ(text(grad({sum(g)}, {x})[0]), "tensor([12., 48.])");
}

TEST(Function, records_nothing_without_need) {
  const Tensor x = leaf({1, 2});
  EXPECT_FALSE(Square::apply(tensor({1})).requires_grad());
  const NoGrad off;
  EXPECT_FALSE(Square::apply(x).requires_grad());
}

// exp(x), from its own result.
struct Exp : Function<Exp> {
  static Tensor forward(Context& ctx, const Tensor& x) {
    Tensor y = exp(x);
    ctx.save_for_backward({y});
    return y;
  }
  static Tensors backward(Context& ctx, const Tensors& grads) { return {ctx.saved()[0] * grads[0]}; }
};

TEST(Function, saves_results) {
  const Tensor x = leaf({0, 0});
  GradOptions options;
  options.create_graph = true;
  const Tensor g = grad({sum(Exp::apply(x))}, {x}, {}, options)[0];
  const Tensor h = grad({sum(g)}, {x}, {}, options)[0];
  EXPECT_EQ(text(h), "tensor([1., 1.])");
  EXPECT_EQ(text(grad({sum(h)}, {x})[0]), "tensor([1., 1.])");
  const Tensor y = Exp::apply(x);
  mul_(y, 2);
  EXPECT_TRUE(
      error_of([&] { backward({sum(y)}); })
          .starts_with("one of the variables needed for gradient computation has been modified by an inplace "
                       "operation: [torch.FloatTensor [2]], which is output 0 of Exp, is at version 1; expected "
                       "version 0 instead."));
}

struct Double : Function<Double> {
  static Tensor forward(Context& ctx, const Tensor& x) {
    mul_(x, 2);
    ctx.mark_dirty({x});
    return x;
  }
  static Tensors backward(Context&, const Tensors& grads) { return {grads[0] * 2}; }
};

TEST(Function, changes_an_argument_in_place) {
  const Tensor x = leaf({1, 2});
  const Tensor y = x * 3;
  const Tensor z = Double::apply(y);
  EXPECT_TRUE(z.is_same(y));
  EXPECT_EQ(grad_fn(y)->name(), "DoubleBackward");
  backward({sum(y * y)});
  EXPECT_EQ(grad_text(x), "tensor([ 72., 144.])");
  EXPECT_EQ(error_of([&] { Double::apply(leaf({1})); }),
            "a leaf Variable that requires grad has been used in an in-place operation.");
  const Tensor plain = tensor({1});
  Double::apply(plain);
  EXPECT_EQ(text(plain), "tensor([2.])");
}

TEST(Function, changes_a_view_in_place) {
  const Tensor x = leaf({1, 2, 3});
  const Tensor base = x * 1;
  const Tensor part = slice(base, 0, 0, 2);
  EXPECT_TRUE(Double::apply(part).is_same(part));
  EXPECT_EQ(grad_fn(base)->name(), "CopySlices");
  backward({sum(part)});
  EXPECT_EQ(grad_text(x), "tensor([2., 2., 0.])");
}

TEST(Function, has_undefined_results) {
  const Tensor x = leaf({1, 2});
  std::vector<bool> seen;
  const Tensors y = apply_custom(
      "Some", {x}, [&](Context&) { return Tensors{Tensor(), x * 2, Tensor()}; },
      [&](Context&, const Tensors& g) {
        for (const Tensor& t : g) seen.push_back(t.defined());
        return Tensors{g[1] * 2};
      });
  EXPECT_EQ(output_number(y[1]), 1u);
  backward({sum(y[1])});
  EXPECT_EQ(seen, (std::vector<bool>{false, true, false}));
  EXPECT_EQ(grad_text(x), "tensor([2., 2.])");
}

TEST(Function, must_return_what_it_changed) {
  const auto forward = [x = leaf({1}) * 1](Context& ctx) -> Tensors {
    ctx.mark_dirty({x});
    return {tensor({1})};
  };
  EXPECT_TRUE(error_of([&] {
                apply_custom("F", {leaf({1})}, forward, {});
              }).starts_with("Some elements marked as dirty during the forward method were not returned as output."));
}

TEST(Function, returns_an_argument_as_it_is) {
  const Tensor x = leaf({1, 2});
  const Tensors y = apply_custom(
      "Same", {x}, [&](Context&) { return Tensors{x}; }, [](Context&, const Tensors& g) { return Tensors{g[0] * 3}; });
  EXPECT_FALSE(y[0].is_same(x));
  EXPECT_TRUE(is_leaf(x));
  backward({sum(y[0])});
  EXPECT_EQ(grad_text(x), "tensor([3., 3.])");
}

TEST(Function, returns_views) {
  const Tensor x = leaf({1, 2, 3});
  const Tensors y = apply_custom(
      "Halves", {x}, [&](Context&) { return Tensors{slice(x, 0, 0, 1), slice(x, 0, 1, 3)}; },
      [](Context&, const Tensors& g) { return Tensors{cat(Tensors{g[0] * 2, g[1] * 5}, 0)}; });
  EXPECT_TRUE(y[0].is_view());
  EXPECT_EQ(grad_fn(y[1])->name(), "HalvesBackward");
  EXPECT_EQ(output_number(y[1]), 1u);
  backward({sum(y[1])});
  EXPECT_EQ(grad_text(x), "tensor([0., 5., 5.])");
}

TEST(Function, has_results_without_gradient) {
  const Tensor x = leaf({1, 2});
  Tensors seen;
  const auto forward = [&](Context& ctx) -> Tensors {
    const Tensor a = x * 1;
    ctx.mark_non_differentiable({a});
    return {a, argmax(x), x * 2, Tensor()};
  };
  const auto backward_of = [&](Context&, const Tensors& g) -> Tensors {
    seen = g;
    return {g[2]};
  };
  const Tensors y = apply_custom("F", {x}, forward, backward_of);
  EXPECT_FALSE(y[0].requires_grad());
  EXPECT_FALSE(y[1].requires_grad());
  EXPECT_TRUE(y[2].requires_grad());
  EXPECT_FALSE(y[3].defined());
  backward({sum(y[2])});
  EXPECT_EQ(text(seen[0]), "tensor([0., 0.])");
  EXPECT_EQ(text(seen[1]), "tensor(0)");
  EXPECT_EQ(text(seen[3]), "None");
}

TEST(Function, gets_undefined_gradients_where_it_wants) {
  const Tensor x = leaf({1, 2});
  Tensors seen;
  const Tensors y = apply_custom(
      "F", {x},
      [&](Context& ctx) {
        ctx.set_materialize_grads(false);
        return Tensors{x * 1, x * 2};
      },
      [&](Context&, const Tensors& g) {
        seen = g;
        return Tensors{g[1]};
      });
  backward({sum(y[1])});
  EXPECT_FALSE(seen[0].defined());
  EXPECT_EQ(grad_text(x), "tensor([1., 1.])");
}

struct Scale : Function<Scale> {
  static Tensor forward(Context& ctx, const Tensor& x, double factor, const Tensor& w) {
    EXPECT_TRUE(ctx.needs_input_grad(0));
    EXPECT_FALSE(ctx.needs_input_grad(1));
    ctx.values = {Value(factor)};
    return mul(x, factor) * w;
  }
  static Tensors backward(Context& ctx, const Tensors& grads) {
    EXPECT_TRUE(ctx.needs_input_grad(0));
    EXPECT_FALSE(ctx.needs_input_grad(1));
    return {mul(grads[0], ctx.values[0].to_double()), Tensor()};
  }
};

TEST(Function, takes_other_arguments) {
  const Tensor x = leaf({1, 2});
  backward({sum(Scale::apply(x, 3.0, tensor({1, 1})))});
  EXPECT_EQ(grad_text(x), "tensor([3., 3.])");
}

Tensors wrong(const Tensor& x, Tensors gradients) {
  return apply_custom(
      "F", {x}, [&](Context&) { return Tensors{x * 2}; }, [=](Context&, const Tensors&) { return gradients; });
}

TEST(Function, must_return_a_gradient_per_argument) {
  const Tensor x = leaf({1, 2});
  EXPECT_EQ(error_of([&] { backward({sum(wrong(x, {})[0])}); }),
            "function FBackward returned an incorrect number of gradients (expected 1, got 0)");
  EXPECT_EQ(error_of([&] { backward({sum(wrong(x, {x, x})[0])}); }),
            "function FBackward returned an incorrect number of gradients (expected 1, got 2)");
  EXPECT_EQ(
      error_of([&] { backward({sum(wrong(x, {tensor({1, 2, 3})})[0])}); }),
      "Function FBackward returned an invalid gradient at index 0 - got [3] but expected shape compatible with [2]");
  backward({sum(wrong(x, {Tensor(), Tensor()})[0])});  // nothing is nothing, however often
  EXPECT_EQ(grad_text(x), "None");
}

TEST(Function, runs_backward_inside) {
  const Tensor x = leaf({2});
  const Tensors y = apply_custom(
      "Inner", {x},
      [&](Context& ctx) {
        const EnableGrad on;
        const Tensor inside = leaf({5});
        backward({inside * inside});
        ctx.save_for_backward({grad(inside)});
        return Tensors{x * 1};
      },
      [](Context& ctx, const Tensors& g) { return Tensors{ctx.saved()[0] * g[0]}; });
  backward({y[0]});
  EXPECT_EQ(grad_text(x), "tensor([10.])");
}

}  // namespace
}  // namespace sconce::autograd
