#include "sconce/autograd/hooks.h"

#include <gtest/gtest.h>

#include "sconce/autograd/backward.h"
#include "sconce/autograd/test_tensors.h"
#include "sconce/ops.h"
#include "sconce/testing/error_of.h"

namespace sconce::autograd {
namespace {

using sconce::testing::error_of;

TensorHook note(std::string& seen, const char* name) {
  return [&seen, name](const Tensor&) -> Tensor {
    seen += std::string(name) + " ";
    return {};
  };
}

TEST(Hooks, run_in_order) {
  std::string seen;
  const Tensor w = leaf({1, 1});
  const Tensor v = w * 2;
  register_hook(v, note(seen, "t1"));
  retain_grad(v);
  register_hook(v, note(seen, "t2"));
  const Ref<Node> node = grad_fn(v);
  register_pre_hook(*node, [&](std::vector<Tensor>&) { seen += "pre "; });
  register_post_hook(*node, [&](std::vector<Tensor>&, const std::vector<Tensor>&) { seen += "post "; });
  register_hook(w, note(seen, "w"));
  register_post_accumulate_grad_hook(w, [&](const Tensor& leaf) { seen += "acc " + grad_text(leaf); });
  const Edge accumulator = node->edges[0];
  register_pre_hook(*accumulator.node, [&](std::vector<Tensor>&) { seen += "accpre "; });
  register_post_hook(*accumulator.node, [&](std::vector<Tensor>&, const std::vector<Tensor>&) { seen += " accpost"; });
  backward({sum(v)});
  EXPECT_EQ(seen, "t1 t2 pre post w accpre acc tensor([2., 2.]) accpost");
  EXPECT_EQ(grad_text(v), "tensor([1., 1.])");
}

TEST(Hooks, replace_gradients) {
  const Tensor x = leaf({1, 2});
  const Tensor y = x * 2;
  register_hook(y, [](const Tensor& g) { return g * 10; });
  register_hook(y, [](const Tensor& g) { return g + 1; });
  retain_grad(y);
  register_hook(x, [](const Tensor& g) { return g * 100; });
  register_pre_hook(*grad_fn(y), [](std::vector<Tensor>& g) { g[0] = g[0] + 1; });
  register_post_hook(*grad_fn(y),
                     [](std::vector<Tensor>& inputs, const std::vector<Tensor>& g) { inputs[0] = inputs[0] + g[0]; });
  backward({sum(y)});
  EXPECT_EQ(grad_text(y), "tensor([11., 11.])");
  EXPECT_EQ(grad_text(x), "tensor([3600., 3600.])");  // (12 * 2 + 12) * 100
}

TEST(Hooks, count_for_captured_gradients) {
  const Tensor x = leaf({1, 2});
  register_hook(x, [](const Tensor& g) { return g * 10; });
  bool accumulated = false;
  register_post_accumulate_grad_hook(x, [&](const Tensor&) { accumulated = true; });
  EXPECT_EQ(text(grad({sum(x * 2)}, {x})[0]), "tensor([20., 20.])");
  EXPECT_FALSE(accumulated);
}

TEST(Hooks, can_remove_themselves_and_others) {
  const Tensor x = leaf({1});
  int first = 0, second = 0;
  HookHandle one, two;
  one = register_hook(x, [&](const Tensor&) -> Tensor {
    ++first;
    one.remove();
    two.remove();
    return {};
  });
  two = register_hook(x, [&](const Tensor&) -> Tensor {
    ++second;
    return {};
  });
  backward({sum(x)});
  backward({sum(x)});
  EXPECT_EQ(first, 1);
  EXPECT_EQ(second, 1);  // the list that runs is that of the beginning
  one.remove();
}

TEST(Hooks, stay_with_the_value_when_a_tensor_is_written) {
  const Tensor w = leaf({1, 1});
  const Tensor v = w * 2;
  std::string seen;
  register_hook(v, [&](const Tensor& g) -> Tensor {
    seen += "before " + text(g);
    return {};
  });
  retain_grad(v);
  mul_(v, 3);
  register_hook(v, [&](const Tensor& g) -> Tensor {
    seen += "after " + text(g) + " ";
    return {};
  });
  backward({sum(v)});
  EXPECT_EQ(seen, "after tensor([1., 1.]) before tensor([3., 3.])");
  EXPECT_EQ(grad_text(v), "tensor([1., 1.])");  // the retained gradient is that of the tensor as it is
}

TEST(Hooks, get_nothing_where_no_gradient_arrived) {
  const Tensor x = leaf({1, 2});
  const std::vector<Tensor> parts = unbind(x * 2, 0);
  std::string seen;
  for (const Tensor& part : parts) {
    register_hook(part, [&](const Tensor& g) -> Tensor {
      seen += text(g) + " ";
      return {};
    });
  }
  backward({parts[0]});
  EXPECT_EQ(seen, "tensor(1.) None ");
}

TEST(Hooks, retained_gradients_add_up) {
  const Tensor x = leaf({1, 2});
  const Tensor y = x * 2;
  EXPECT_FALSE(retains_grad(y));
  retain_grad(y);
  retain_grad(y);
  EXPECT_TRUE(retains_grad(y));
  backward({sum(y * 3)}, {}, {.retain_graph = true});
  backward({sum(y * 5)});
  EXPECT_EQ(grad_text(y), "tensor([8., 8.])");
  retain_grad(x);  // nothing to do
  EXPECT_FALSE(retains_grad(x));
}

TEST(Hooks, outlive_the_tensor) {
  const Tensor x = leaf({1, 2});
  Tensor y = x * 2;
  retain_grad(y);
  int calls = 0;
  HookHandle handle = register_hook(y, [&](const Tensor&) -> Tensor {
    ++calls;
    return {};
  });
  const Tensor z = sum(y);
  y = Tensor();
  backward({z}, {}, {.retain_graph = true});
  EXPECT_EQ(calls, 1);
  handle.remove();
  backward({z});
  EXPECT_EQ(calls, 1);
}

TEST(Hooks, are_refused_where_no_gradient_will_come) {
  const Tensor x = leaf({1, 2}), plain = tensor({1, 2});
  EXPECT_EQ(error_of([&] { register_hook(plain, {}); }),
            "cannot register a hook on a tensor that doesn't require gradient");
  EXPECT_EQ(error_of([&] { register_post_accumulate_grad_hook(x * 2, {}); }),
            "post accumulate grad hooks cannot be registered on non-leaf tensors");
  EXPECT_EQ(error_of([&] { retain_grad(plain); }), "can't retain_grad on Tensor that has requires_grad=False");
}

TEST(Hooks, must_return_what_looks_the_same) {
  const Tensor x = leaf({1, 2});
  Tensor y = x * 2;
  register_hook(y, [](const Tensor&) { return tensor({1}); });
  EXPECT_TRUE(error_of([&] { backward({sum(y)}); }).starts_with("hook '0' has changed the size of value"));
  y = x * 2;
  register_hook(y, [](const Tensor& g) { return to(g, DType::float64); });
  EXPECT_TRUE(error_of([&] {
                backward({sum(y)});
              }).starts_with("hook '0' has changed the type of value (was torch.FloatTensor got torch.DoubleTensor)"));
}

}  // namespace
}  // namespace sconce::autograd
