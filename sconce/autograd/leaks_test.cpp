// Training steps leave no memory behind.
#include <gtest/gtest.h>
#include <malloc.h>

#include "sconce/autograd/backward.h"
#include "sconce/autograd/checkpoint.h"
#include "sconce/autograd/custom_function.h"
#include "sconce/autograd/hooks.h"
#include "sconce/autograd/test_tensors.h"
#include "sconce/ops.h"
#include "sconce/tensor/grad_mode.h"
#include "sconce/tensor/memory/allocator_stats.h"

namespace sconce::autograd {
namespace {

struct Held {
  size_t tensors = allocator_stats().held, heap = mallinfo2().uordblks;
};

// What `step` leaves behind per call: 0, but for what grows once in a while.
template <class F>
void expect_no_growth(int steps, F&& step) {
  for (int i = 0; i < 200; ++i) step();
  const Held before;
  for (int i = 0; i < steps; ++i) step();
  const Held after;
  EXPECT_EQ(after.tensors, before.tensors);
  EXPECT_LT(after.heap, before.heap + 4096);
}

TEST(Leaks, steps_of_a_small_model) {
  const Tensor w1 = leaf(std::vector<float>(64, 0.1f)), w2 = leaf(std::vector<float>(32, 0.2f));
  const Tensor x = reshape(tensor(std::vector<float>(40, 0.5f)), {5, 8});
  expect_no_growth(10000, [&] {
    const Tensor hidden = relu(linear(x, view(w1, {8, 8})));
    const Tensor loss = mean(pow(linear(hidden, view(w2, {4, 8})), 2));
    backward({loss});
    const NoGrad off;
    for (const Tensor& w : {w1, w2}) {
      sub_(w, grad(w), 0.01);
      set_grad(w, Tensor());
    }
  });
}

TEST(Leaks, graphs_that_no_backward_runs_through) {
  const Tensor x = leaf({1, 2, 3});
  expect_no_growth(2000, [&] {
    const Tensor y = exp(x) * softmax(x, 0);  // keeps results
    mul_(y, y);                               // reads itself
    const Tensor z = y * x;
    add_(select(z, 0, 1), 1);
  });
}

TEST(Leaks, gradients_of_gradients) {
  const Tensor x = leaf({1, 2, 3});
  expect_no_growth(2000, [&] {
    GradOptions options;
    options.create_graph = true;
    const Tensor g = grad({sum(exp(x) * tanh(x))}, {x}, {}, options)[0];
    backward({sum(g * g)});
    set_grad(x, Tensor());
  });
}

TEST(Leaks, hooks_functions_and_checkpoints) {
  const Tensor x = leaf({1, 2, 3});
  expect_no_growth(2000, [&] {
    const Tensor y =
        checkpoint([](const std::vector<Tensor>& in) { return std::vector<Tensor>{exp(in[0]) * in[0]}; }, {x})[0];
    const Tensor z = apply_custom(
        "Own", {y},
        [&](Context& ctx) {
          const Tensor out = y * y;
          ctx.save_for_backward({y, out});
          return std::vector<Tensor>{out};
        },
        [](Context& ctx, const std::vector<Tensor>& g) { return std::vector<Tensor>{ctx.saved()[0] * g[0]}; })[0];
    retain_grad(z);
    HookHandle handle = register_hook(x, [](const Tensor& g) { return g * 1; });
    backward({sum(z)});
    handle.remove();
    set_grad(x, Tensor());
  });
}

TEST(Leaks, failed_runs) {
  const Tensor x = leaf({1, 2, 3});
  expect_no_growth(2000, [&] {
    const Tensor y = x * x;
    register_hook(y, [](const Tensor&) -> Tensor { fail("no"); });
    EXPECT_THROW(backward({sum(exp(y))}), Error);
  });
}

}  // namespace
}  // namespace sconce::autograd
