#include "sconce/autograd/backward.h"

#include <gtest/gtest.h>

#include "sconce/autograd/hooks.h"
#include "sconce/autograd/test_tensors.h"
#include "sconce/ops.h"
#include "sconce/tensor/grad_mode.h"
#include "sconce/testing/error_of.h"

namespace sconce::autograd {
namespace {

using sconce::testing::error_of;

TEST(Engine, sums_what_flows_into_a_leaf) {
  const Tensor x = leaf({1, 2, 3});
  backward({sum(x * x + x)});
  EXPECT_EQ(grad_text(x), "tensor([3., 5., 7.])");
  backward({sum(x * 2)});
  EXPECT_EQ(grad_text(x), "tensor([5., 7., 9.])");
}

// A leaf that is its own gradient is looked up while its gradient is written.
TEST(Engine, records_leaves_that_are_gradients) {
  const Tensor x = leaf({1, 2, 3});
  backward({x}, {x}, {.create_graph = true});
  backward({x}, {x}, {.create_graph = true});
  EXPECT_EQ(grad_text(x), "tensor([2., 4., 6.])");
  set_grad(x, Tensor());  // its history owns x
}

TEST(Engine, starts_at_several_roots) {
  const Tensor x = leaf({1, 2});
  const Tensor y = x * 2, z = y * y;
  backward({sum(z), y, x}, {Tensor(), tensor({1, 1}), tensor({10, 10})});  // one root is behind another, one a leaf
  EXPECT_EQ(grad_text(x), "tensor([20., 28.])");
}

TEST(Engine, gives_gradients_of_roots_behind_each_other) {
  const Tensor x = leaf({1, 2});
  const Tensor y = x * 2, z = y * y;
  for (const std::vector<Tensor>& roots : {std::vector{y, z}, std::vector{z, y}}) {
    const auto grads = grad(roots, {x}, {tensor({1, 1}), tensor({1, 1})}, {{.retain_graph = true}});
    EXPECT_EQ(text(grads[0]), "tensor([10., 18.])");
  }
}

TEST(Engine, takes_a_root_twice) {
  const Tensor x = leaf({1, 2});
  const Tensor y = x * 2;
  backward({y, y}, {tensor({1, 1}), tensor({3, 4})});
  EXPECT_EQ(grad_text(x), "tensor([ 8., 10.])");
  const Tensor z = leaf({1, 2});
  backward({z, z}, {tensor({1, 1}), tensor({3, 4})});
  EXPECT_EQ(grad_text(z), "tensor([4., 5.])");
}

TEST(Engine, leaves_the_given_gradient_alone) {
  const Tensor x = leaf({1, 2}), g = tensor({1, 1});
  backward({x}, {g});
  backward({x}, {g});
  EXPECT_EQ(text(g), "tensor([1., 1.])");
  EXPECT_EQ(grad_text(x), "tensor([2., 2.])");
  EXPECT_FALSE(grad(x).is_same(g));
}

TEST(Engine, accumulates_in_place) {
  const Tensor x = leaf({1, 2});
  backward({sum(x)});
  const Tensor first = grad(x);
  backward({sum(x)});
  EXPECT_TRUE(grad(x).is_same(first));
  backward({sum(x)}, {}, {.create_graph = true});  // not in place: the old gradient may be part of a graph
  EXPECT_FALSE(grad(x).is_same(first));
  EXPECT_EQ(text(first), "tensor([2., 2.])");
}

TEST(Engine, stops_at_inputs_of_backward) {
  const Tensor x = leaf({1, 2}), w = leaf({3, 4});
  const Tensor y = x * w;
  backward({sum(y * y)}, {}, {.retain_graph = true}, {w});
  EXPECT_EQ(grad_text(w), "tensor([ 6., 32.])");
  EXPECT_EQ(grad_text(x), "None");
  const Tensor z = x * 2;
  backward({sum(z * z)}, {}, {}, {z});  // no leaf: keeps its gradient, and nothing behind it gets one
  EXPECT_EQ(grad_text(z), "tensor([4., 8.])");
  EXPECT_EQ(grad_text(x), "None");
}

TEST(Engine, gives_gradients_of_any_tensor) {
  const Tensor x = leaf({1, 2});
  const Tensor y = x * 2;
  const std::vector<Tensor> g = grad({sum(y * y)}, {y, x, y});
  EXPECT_EQ(text(g[0]), "tensor([4., 8.])");
  EXPECT_EQ(text(g[1]), "tensor([ 8., 16.])");
  EXPECT_EQ(text(g[2]), "tensor([4., 8.])");
  EXPECT_EQ(grad_text(x), "None");
  EXPECT_EQ(text(grad({sum(x * 3)}, {x})[0]), "tensor([3., 3.])");
  const Tensor z = sum(x);
  EXPECT_EQ(text(grad({z}, {z})[0]), "tensor(1.)");
}

TEST(Engine, gives_nothing_or_zeros_for_what_is_not_used) {
  const Tensor x = leaf({1, 2}), u = leaf({1, 2, 3});
  EXPECT_EQ(
      error_of([&] { grad({sum(x)}, {x, u}); }),
      "The differentiated Tensor at index 1 appears to not have been used in the graph. Set allow_unused=True if this "
      "is the desired behavior.");
  GradOptions options;
  options.allow_unused = true;
  EXPECT_EQ(text(grad({sum(x)}, {x, u}, {}, options)[1]), "None");
  options.materialize_grads = true;
  EXPECT_EQ(text(grad({sum(x)}, {x, u}, {}, options)[1]), "tensor([0., 0., 0.])");
  const Tensor y = x * 2;
  options = {};
  options.allow_unused = true;
  EXPECT_EQ(text(grad({sum(y)}, {select(y, 0, 0)}, {}, options)[0]), "None");  // a view, made after
}

TEST(Engine, differentiates_gradients) {
  const Tensor x = leaf({1, 2});
  GradOptions options;
  options.create_graph = true;
  const Tensor g = grad({sum(x * x * x)}, {x}, {}, options)[0];
  EXPECT_TRUE(g.requires_grad());
  EXPECT_EQ(text(g), "tensor([ 3., 12.])");
  const Tensor h = grad({sum(g)}, {x}, {}, options)[0];
  EXPECT_EQ(text(h), "tensor([ 6., 12.])");
  EXPECT_EQ(text(grad({sum(h)}, {x})[0]), "tensor([6., 6.])");
}

TEST(Engine, says_what_is_wrong_with_roots) {
  const Tensor x = leaf({1, 2, 3});
  const Tensor y = x * 2;
  EXPECT_EQ(error_of([&] { backward({y}); }), "grad can be implicitly created only for scalar outputs");
  EXPECT_EQ(error_of([&] { backward({sum(y), tensor({1})}); }),
            "element 1 of tensors does not require grad and does not have a grad_fn");
  EXPECT_EQ(
      error_of([&] { backward({y}, {tensor({1, 2})}); }),
      "Mismatch in shape: grad_output[0] has a shape of torch.Size([2]) and output[0] has a shape of torch.Size([3]).");
  EXPECT_EQ(error_of([&] { backward({y}, {to(tensor({1, 2, 3}), DType::complex64)}); }),
            "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: "
            "grad_output[0] has a dtype of torch.complex64 and output[0] has a dtype of torch.float32.");
  EXPECT_EQ(error_of([&] { backward({y}, {to(tensor({1, 2, 3}), Device(DeviceType::meta), DType::float32)}); }),
            "invalid gradient at index 0 - expected device cpu but got meta");
  EXPECT_EQ(error_of([&] { backward({sum(y)}, {Tensor(), Tensor()}); }), "got 1 tensors and 2 gradients");
  EXPECT_EQ(error_of([&] { grad({sum(y)}, {tensor({1})}); }),
            "One of the differentiated Tensors does not require grad");
  EXPECT_EQ(error_of([&] { grad({sum(y)}, {}); }), "`inputs` argument to `grad()` cannot be empty.");
  backward({y}, {to(tensor({1, 2, 3}), DType::float64)});  // another dtype is converted
  EXPECT_EQ(grad(x).dtype(), DType::float32);
}

TEST(Engine, frees_what_was_saved) {
  const Tensor x = leaf({1, 2});
  const Tensor y = sum(x * x);
  backward({y}, {}, {.retain_graph = true});
  backward({y});
  EXPECT_TRUE(
      error_of([&] { backward({y}); })
          .starts_with("Trying to backward through the graph a second time (or directly access saved tensors after "
                       "they have already been freed)."));
  EXPECT_EQ(grad_text(x), "tensor([4., 8.])");
  // Sizes and numbers are not freed: where nothing else was kept, backward can run again.
  const Tensor z = leaf({1, 2});
  const Tensor wide = sum(expand(mul(z, Scalar(3)), {2, 2}));
  backward({wide});
  backward({wide});
  EXPECT_EQ(grad_text(z), "tensor([12., 12.])");
}

TEST(Engine, names_the_node_that_failed_and_goes_on) {
  const Tensor x = leaf({1, 2});
  const Tensor y = x * x;
  HookHandle handle = register_hook(y, [](const Tensor&) -> Tensor { fail("no"); });
  const Tensor z = sum(y);
  EXPECT_EQ(error_of([&] { backward({z}, {}, {.retain_graph = true}); }), "no (in MulBackward0)");
  handle.remove();
  backward({z});
  EXPECT_EQ(grad_text(x), "tensor([2., 4.])");
}

TEST(Engine, runs_callbacks_at_the_end) {
  const Tensor x = leaf({1, 2});
  const Tensor y = x * 2;
  std::string seen;
  register_hook(y, [&](const Tensor&) -> Tensor {
    queue_callback([&] {
      seen += "a" + grad_text(x);
      queue_callback([&] { seen += "b"; });
    });
    seen += "hook ";
    return {};
  });
  backward({sum(y)});
  EXPECT_EQ(seen, "hook atensor([2., 2.])b");
  EXPECT_EQ(error_of([] { queue_callback([] {}); }), "Final callbacks can only be installed during backward pass.");
}

TEST(Engine, runs_inside_of_itself) {
  const Tensor x = leaf({1, 2}), inner = leaf({3});
  const Tensor y = x * 2;
  register_hook(y, [&](const Tensor& g) -> Tensor {
    const EnableGrad on;
    backward({sum(inner * inner)});
    return g * grad(inner);
  });
  backward({sum(y)});
  EXPECT_EQ(grad_text(x), "tensor([12., 12.])");
}

// Each level's hook runs a backward of its own, which runs the next level's hook.
int nest(int levels) {
  const EnableGrad on;
  const Tensor x = leaf({1});
  const Tensor y = x * 2;
  int below = 0;
  register_hook(y, [&](const Tensor&) -> Tensor {
    if (levels > 1) below = nest(levels - 1);
    return {};
  });
  backward({sum(y)});
  return below + 1;
}

TEST(Engine, runs_deep_inside_of_itself) { EXPECT_EQ(nest(500), 500); }

TEST(Engine, keeps_modes_when_nested) {
  const NoGrad off;
  Tensor x;
  {
    const EnableGrad on;
    x = leaf({1});
    const Tensor y = x * 2;
    register_hook(y, [&](const Tensor&) -> Tensor {
      EXPECT_FALSE(grad_enabled());
      return {};
    });
    backward({sum(y)});
    EXPECT_TRUE(grad_enabled());
  }
  EXPECT_FALSE(grad_enabled());
}

TEST(Engine, runs_and_frees_long_chains) {
  const Tensor x = leaf({1});
  Tensor y = x;
  for (int i = 0; i < 1000000; ++i) y = y + 1;
  backward({y});
  EXPECT_EQ(grad_text(x), "tensor([1.])");
  y = Tensor();
  y = x;
  for (int i = 0; i < 200000; ++i) y = y * y;  // nodes that keep tensors, which keep nodes
}

TEST(Engine, runs_in_the_order_of_the_forward_calls) {
  const Tensor x = leaf({1});
  std::string seen;
  const auto watch = [&](const Tensor& t, const char* name) {
    register_hook(t, [&seen, name](const Tensor&) -> Tensor {
      seen += name;
      return {};
    });
  };
  const Tensor a = x * 2, b = x * 3, c = x * 4;
  watch(a, "a"), watch(b, "b"), watch(c, "c"), watch(x, "x");
  backward({sum(b + c + a)});
  EXPECT_EQ(seen, "cbax");
}

TEST(Engine, fits_gradients_to_broadcast_inputs) {
  const Tensor x = leaf({1, 2}), w = leaf({3});
  backward({sum(x * w)});
  EXPECT_EQ(grad_text(w), "tensor([3.])");
}

}  // namespace
}  // namespace sconce::autograd
