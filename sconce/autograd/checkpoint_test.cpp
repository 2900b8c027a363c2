#include "sconce/autograd/checkpoint.h"

#include <gtest/gtest.h>

#include "sconce/autograd/backward.h"
#include "sconce/autograd/graph/saved_tensor.h"
#include "sconce/autograd/test_tensors.h"
#include "sconce/ops.h"
#include "sconce/tensor/grad_mode.h"
#include "sconce/testing/error_of.h"

namespace sconce::autograd {
namespace {

using sconce::testing::error_of;
using Tensors = std::vector<Tensor>;

TEST(SavedTensorHooks, pack_and_unpack) {
  const Tensor x = leaf({1, 2});
  int packed = 0, unpacked = 0;
  Tensor y;
  {
    const SavedTensorHooksGuard outer({[](const Tensor&) -> Value { fail("the inner one counts"); }, {}});
    const SavedTensorHooksGuard hooks({[&](const Tensor& t) {
                                         ++packed;
                                         EXPECT_FALSE(t.requires_grad());
                                         return Value(mul(t, 10));
                                       },
                                       [&](const Value& v) {
                                         ++unpacked;
                                         return mul(v.to_tensor(), 0.1);
                                       }});
    y = exp(x) * x;
  }
  GradOptions options;
  options.create_graph = true;
  const Tensor g = grad({sum(y)}, {x}, {}, options)[0];
  EXPECT_EQ(packed, 3);
  EXPECT_EQ(unpacked, 3);
  EXPECT_TRUE(allclose(g, mul(exp(x), x + 1), 1e-5));
  EXPECT_TRUE(allclose(grad({sum(g)}, {x})[0], mul(exp(x), x + 2), 1e-5));  // through packed inputs and results
}

// Counts runs.
struct Layer {
  Tensor w = leaf({3, 4});
  int runs = 0;
  Tensors operator()(const Tensors& in) {
    ++runs;
    return {sin(mul(in[0], w) * in[0])};
  }
};

TEST(Checkpoint, gives_the_same_gradients) {
  Layer layer, plain;
  const Tensor x = leaf({1, 2}), other = leaf({1, 2});
  const Tensor y = checkpoint(std::ref(layer), {x})[0];
  EXPECT_EQ(layer.runs, 1);
  backward({sum(y)}, {}, {.retain_graph = true});
  EXPECT_EQ(layer.runs, 2);
  backward({sum(plain({other})[0])});
  EXPECT_EQ(grad_text(x), grad_text(other));
  EXPECT_EQ(grad_text(layer.w), grad_text(plain.w));
  backward({sum(y)});
  EXPECT_EQ(layer.runs, 3);
  EXPECT_EQ(grad_text(x), text(mul(grad(other), 2)));
}

TEST(Checkpoint, stops_as_soon_as_all_is_there) {
  const Tensor x = leaf({1, 2});
  int ends = 0;
  const Tensor y = checkpoint(
      [&](const Tensors& in) {
        const Tensor a = exp(in[0] * in[0]);
        const Tensor b = a + 1;
        ++ends;
        return Tensors{b};
      },
      {x})[0];
  backward({sum(y)});
  EXPECT_EQ(ends, 1);
}

TEST(Checkpoint, nests) {
  Layer inner, plain;
  int outer_runs = 0;
  const Tensor x = leaf({1, 2}), other = leaf({1, 2});
  const Tensor y = checkpoint(
      [&](const Tensors& in) {
        ++outer_runs;
        const Tensor a = checkpoint(std::ref(inner), {in[0] * in[0]})[0];
        return checkpoint(std::ref(inner), {a});
      },
      {x})[0];
  backward({sum(y)});
  const Tensor expected = plain(plain({other * other}))[0];
  backward({sum(expected)});
  EXPECT_EQ(grad_text(x), grad_text(other));
  EXPECT_EQ(grad_text(inner.w), grad_text(plain.w));
}

TEST(Checkpoint, draws_the_same_numbers_again) {
  const Tensor x = leaf(std::vector<float>(100, 1));
  manual_seed(7);
  const Tensor y = checkpoint([](const Tensors& in) { return Tensors{dropout(in[0], 0.5, true) * in[0]}; }, {x})[0];
  const Tensor after = rand({3});
  const Tensor mask = mul(shallow_copy(y), 2);
  backward({sum(y)});
  EXPECT_EQ(grad_text(x), text(mask));  // d/dx (m x^2) = 2 m x at 1
  const Tensor next = rand({3});
  manual_seed(7);
  dropout(shallow_copy(x), 0.5, true);
  EXPECT_EQ(text(rand({3})), text(after));
  EXPECT_EQ(text(rand({3})), text(next));  // the stream goes on as if nothing had run twice
}

TEST(Checkpoint, is_differentiated_twice) {
  const Tensor x = leaf({1, 2});
  GradOptions options;
  options.create_graph = true;
  const Tensor y = checkpoint([](const Tensors& in) { return Tensors{in[0] * in[0] * in[0]}; }, {x})[0];
  const Tensor g = grad({sum(y)}, {x}, {}, options)[0];
  EXPECT_EQ(text(g), "tensor([ 3., 12.])");
  EXPECT_EQ(text(grad({sum(g)}, {x})[0]), "tensor([ 6., 12.])");
}

TEST(Checkpoint, notices_another_second_run) {
  const Tensor x = leaf({1, 2});
  int runs = 0;
  const auto other_size = [&](const Tensors& in) {
    Tensor a = in[0] * in[0];
    if (++runs > 1) a = expand(unsqueeze(a, 0), {2, 2});
    return Tensors{sum(a * a)};
  };
  EXPECT_TRUE(
      error_of([&] { backward({checkpoint(other_size, {x})[0]}); })
          .starts_with("torch.utils.checkpoint: Recomputed values for the following tensors have different metadata "
                       "than during the forward pass.\ntensor at position 2: saved torch.float32[2] on cpu, "
                       "recomputed torch.float32[2, 2] on cpu"));
  runs = 0;
  const auto fewer = [&](const Tensors& in) {
    Tensor a = in[0] * in[0];
    if (++runs == 1) a = a * a * a;
    return Tensors{sum(a)};
  };
  EXPECT_TRUE(
      error_of([&] { backward({checkpoint(fewer, {x})[0]}); })
          .starts_with("torch.utils.checkpoint: A different number of tensors was saved during the original forward "
                       "and recomputation."));
}

TEST(Checkpoint, does_nothing_without_gradients) {
  Layer layer;
  const NoGrad off;
  EXPECT_FALSE(checkpoint(std::ref(layer), {leaf({1, 2})})[0].requires_grad());
}

}  // namespace
}  // namespace sconce::autograd
