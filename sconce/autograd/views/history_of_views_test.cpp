// In-place operations on views and their bases. All values and messages were recorded from PyTorch 2.13.
#include <gtest/gtest.h>

#include "sconce/autograd/backward.h"
#include "sconce/autograd/graph/saved_tensor.h"
#include "sconce/autograd/test_tensors.h"
#include "sconce/ops.h"
#include "sconce/tensor/grad_mode.h"
#include "sconce/testing/error_of.h"

namespace sconce::autograd {
namespace {

// 1, 2, ..., n
Tensor count(int64_t n) { return arange(1, n + 1, DType::float32); }
Tensor count_leaf(int64_t n) {
  const Tensor t = count(n);
  set_requires_grad(t, true);
  return t;
}
Tensor part(const Tensor& t, int64_t from, int64_t to, int64_t step = 1) { return slice(t, 0, from, to, step); }
std::string made_by(const Tensor& t) {
  const Ref<Node> node = grad_fn(t);
  return node ? node->name() : "none";
}
// The gradient of leaf, of sum(t * (1, 2, 3, ...)).
std::string weighted(const Tensor& leaf, const Tensor& t) {
  backward({sum(mul(t, view(count(t.numel()), t.sizes())))});
  return grad_text(leaf);
}
std::string squared(const Tensor& leaf, const Tensor& t) {
  backward({sum(mul(t, t))});
  return grad_text(leaf);
}
std::string summed(const Tensor& leaf, const Tensor& t) {
  backward({sum(t)});
  return grad_text(leaf);
}

TEST(Views, write_to_view_is_part_of_bases_history) {
  const Tensor a = count_leaf(4), x = a * 1, v = part(x, 1, 3);
  mul_(v, 10);
  EXPECT_EQ(made_by(x), "CopySlices");
  EXPECT_EQ(made_by(v), "AsStridedBackward0");
  EXPECT_EQ(summed(a, x), "tensor([ 1., 10., 10.,  1.])");
}

TEST(Views, written_view_goes_through_base) {
  const Tensor a = count_leaf(4), x = a * 1, v = part(x, 1, 3);
  mul_(v, 10);
  EXPECT_EQ(summed(a, v), "tensor([ 0., 10., 10.,  0.])");
}

TEST(Views, view_of_view) {
  const Tensor a = count_leaf(6), x = a * 1, v = select(view(x, {2, 3}), 0, 1), w = part(v, 0, 3, 2);
  mul_(w, 3);
  EXPECT_EQ(made_by(v) + made_by(w) + made_by(x), "AsStridedBackward0AsStridedBackward0CopySlices");
  EXPECT_EQ(weighted(a, x), "tensor([ 1.,  2.,  3., 12.,  5., 18.])");
}

TEST(Views, base_then_view) {
  const Tensor a = count_leaf(4), x = a * 1, v = part(x, 0, 2);
  mul_(x, 2);
  mul_(v, 3);
  EXPECT_EQ(weighted(a, x), "tensor([ 6., 12.,  6.,  8.])");
}

TEST(Views, view_then_base) {
  const Tensor a = count_leaf(4), x = a * 1, v = part(x, 0, 2);
  mul_(v, 3);
  mul_(x, 2);
  EXPECT_EQ(made_by(x) + made_by(v), "MulBackward1AsStridedBackward0");
  EXPECT_EQ(squared(a, v), "tensor([ 72., 144.,   0.,   0.])");
}

TEST(Views, two_views_that_overlap) {
  const Tensor a = count_leaf(4), x = a * 1, v = part(x, 0, 3), w = part(x, 1, 4);
  mul_(v, 2);
  mul_(w, 5);
  EXPECT_EQ(summed(a, v), "tensor([ 2., 10., 10.,  0.])");
}

TEST(Views, slices_assigned_in_a_loop) {
  const Tensor a = count_leaf(3), x = zeros({3, 2});
  for (int64_t i = 0; i < 3; ++i) copy_(select(x, 0, i), mul(select(a, 0, i), select(a, 0, i)));
  EXPECT_EQ(made_by(x), "CopySlices");
  EXPECT_EQ(weighted(a, x), "tensor([ 6., 28., 66.])");
}

TEST(Views, recurrence_over_slices) {
  const Tensor a = leaf({2}), x = ones({4});
  for (int64_t i = 1; i < 4; ++i) copy_(select(x, 0, i), mul(clone(select(x, 0, i - 1)), select(a, 0, 0)));
  EXPECT_EQ(text(x), "tensor([1., 2., 4., 8.])");
  EXPECT_EQ(summed(a, x), "tensor([17.])");
}

TEST(Views, recurrence_without_copy_is_caught) {
  const Tensor a = leaf({2}), x = ones({4});
  for (int64_t i = 1; i < 4; ++i) copy_(select(x, 0, i), mul(select(x, 0, i - 1), select(a, 0, 0)));
  EXPECT_ERROR(backward({sum(x)}),
               "one of the variables needed for gradient computation has been modified by an inplace operation: "
               "[torch.FloatTensor []], which is output 0 of AsStrided, is at version 3; expected version 2 instead.");
  detach_in_place(x);  // x, its history, what that keeps for backward, and the view of x among it own each other
  EXPECT_EQ(x.impl()->storage->count.owners(), 1u);  // the error's text has given that view no history of its own
}

TEST(Views, value_that_requires_grad_makes_base_require_it) {
  const Tensor w = count_leaf(2), x = zeros({4}), v = part(x, 1, 3);
  copy_(v, w);
  EXPECT_TRUE(v.requires_grad() && x.requires_grad() && !is_leaf(v) && !is_leaf(x));
  EXPECT_EQ(made_by(v) + made_by(x), "AsStridedBackward0CopySlices");
  EXPECT_EQ(weighted(w, x), "tensor([2., 3.])");
}

TEST(Views, taken_before_the_base_has_a_history) {
  const Tensor w = count_leaf(3), x = ones({3}), v = view(x, {-1});
  EXPECT_FALSE(v.requires_grad());
  mul_(x, w);
  EXPECT_TRUE(v.requires_grad());
  EXPECT_FALSE(is_leaf(v));
  EXPECT_EQ(made_by(v), "AsStridedBackward0");
  EXPECT_EQ(summed(w, v), "tensor([1., 1., 1.])");
}

TEST(Views, taken_before_and_used_in_an_operation) {
  const Tensor w = count_leaf(3), x = ones({3}), v = view(x, {3, 1});
  mul_(x, w);
  const Tensor y = v * 2;
  EXPECT_EQ(made_by(y), "MulBackward1");
  EXPECT_EQ(summed(w, y), "tensor([2., 2., 2.])");
  const NoGrad off;
  EXPECT_FALSE((v * 2).requires_grad());
}

TEST(Views, taken_before_another_view_is_written) {
  const Tensor w = count_leaf(2), x = ones({4}), u = part(x, 0, 2), v = part(x, 1, 3);
  mul_(v, w);
  EXPECT_TRUE(u.requires_grad());
  backward({sum(mul(u, tensor({3, 5})))});
  EXPECT_EQ(grad_text(w), "tensor([5., 0.])");
}

TEST(Views, chain_taken_before) {
  const Tensor w = count_leaf(4), x = ones({4}), v = view(x, {2, 2}), u = select(v, 0, 1);
  mul_(v, view(w, {2, 2}));
  EXPECT_EQ(made_by(u) + made_by(v) + made_by(x), "AsStridedBackward0AsStridedBackward0CopySlices");
  EXPECT_EQ(weighted(w, u), "tensor([0., 0., 1., 2.])");
}

TEST(Views, taken_before_and_after) {
  const Tensor w = count_leaf(4), x = zeros({4}), v = part(x, 0, 2);
  add_(x, w);
  const Tensor u = part(x, 2, 4);
  EXPECT_EQ(made_by(v) + made_by(u), "AsStridedBackward0SliceBackward0");
  backward({sum(v) * 2 + sum(u * u)});
  EXPECT_EQ(grad_text(w), "tensor([2., 2., 6., 8.])");
}

TEST(Views, of_two_histories) {
  const Tensor w = count_leaf(3), x = ones({3}), v = view(x, {-1});
  mul_(x, w);
  const Tensor first = sum(v);
  mul_(x, w);
  backward({first + sum(v)});
  EXPECT_EQ(grad_text(w), "tensor([3., 5., 7.])");
}

TEST(Views, detached_tensor_has_no_part_in_it) {
  const Tensor w = count_leaf(3), x = ones({3}), d = detach(x);
  mul_(x, w);
  EXPECT_FALSE(d.requires_grad());
  EXPECT_EQ(text(d), "tensor([1., 2., 3.])");
  const Tensor y = ones({3}), e = detach(y);
  mul_(e, w);
  EXPECT_TRUE(e.requires_grad());
  EXPECT_FALSE(y.requires_grad());
  EXPECT_EQ(text(y), "tensor([1., 2., 3.])");
}

TEST(Views, saved_tensor_written_through_view) {
  const Tensor a = count_leaf(3), x = a * 1, v = part(x, 0, 1), y = x * x;
  mul_(v, 2);
  EXPECT_ERROR(backward({sum(y)}),
               "[torch.FloatTensor [3]], which is output 0 of torch::autograd::CopySlices, is at "
               "version 1; expected version 0 instead.");
}

TEST(Views, saved_view_written_through_base) {
  const Tensor a = count_leaf(3), x = a * 1, v = part(x, 0, 1), y = v * v;
  add_(x, 1);
  EXPECT_ERROR(backward({sum(y)}),
               "[torch.FloatTensor [1]], which is output 0 of AsStrided, is at version 1; expected "
               "version 0 instead.");
}

TEST(Views, division_by_part_of_itself) {
  const Tensor a = count_leaf(4), x = a * 1;
  div_(part(x, 1, 4), select(x, 0, 0));
  EXPECT_ERROR(backward({sum(x)}), "[torch.FloatTensor []], which is output 0 of AsStrided, is at version 1");
  detach_in_place(x);  // which owns itself through its history
  EXPECT_EQ(x.impl()->storage->count.owners(), 1u);
}

TEST(Views, constants_written) {
  Tensor a = count_leaf(4), x = a * 1;
  fill_(part(x, 1, 3), 7);
  EXPECT_EQ(squared(a, x), "tensor([2., 0., 0., 8.])");
  a = count_leaf(4), x = a * 1;
  zero_(part(x, 1, 3));
  EXPECT_EQ(squared(a, x), "tensor([2., 0., 0., 8.])");
  a = count_leaf(4), x = a * 1;
  const Tensor w = leaf({5});
  fill_(part(x, 1, 3), select(w, 0, 0));
  EXPECT_EQ(squared(a, x), "tensor([2., 0., 0., 8.])");
  EXPECT_EQ(grad_text(w), "tensor([20.])");
  a = count_leaf(4), x = a * 1;
  const Tensor mask = gt(tensor({1, 0, 1}), 0);
  masked_fill_(part(x, 1, 4), mask, 9);
  EXPECT_EQ(squared(a, x), "tensor([2., 0., 6., 0.])");
}

TEST(Views, index_put) {
  const Tensor a = count_leaf(6), w = count_leaf(2), x = a * 1, v = select(view(x, {2, 3}), 0, 1);
  const Tensor places = mul(arange(2), 2);
  index_put_(v, std::vector<Tensor>{places}, w);
  EXPECT_EQ(made_by(x), "CopySlices");
  EXPECT_EQ(squared(a, x), "tensor([ 2.,  4.,  6.,  0., 10.,  0.])");
  EXPECT_EQ(grad_text(w), "tensor([2., 4.])");
}

TEST(Views, index_put_accumulates) {
  const Tensor a = count_leaf(4), w = count_leaf(3), x = a * 1;
  const Tensor places = to(tensor({0, 0, 2}), DType::int64);
  index_put_(part(x, 1, 4), std::vector<Tensor>{places}, w, true);
  EXPECT_EQ(weighted(a, x), "tensor([1., 2., 3., 4.])");
  EXPECT_EQ(grad_text(w), "tensor([2., 2., 4.])");
}

TEST(Views, copy_broadcasts_and_converts) {
  Tensor a = count_leaf(4), x = a * 1, w = leaf({3});
  copy_(part(x, 1, 3), w);
  EXPECT_EQ(squared(a, x), "tensor([2., 0., 0., 8.])");
  EXPECT_EQ(grad_text(w), "tensor([12.])");
  a = count_leaf(4), x = a * 1;
  const Tensor d = to(tensor({1.5, 2.5}), DType::float64);
  set_requires_grad(d, true);
  copy_(part(x, 1, 3), d);
  EXPECT_EQ(squared(a, x), "tensor([2., 0., 0., 8.])");
  EXPECT_EQ(grad_text(d), "tensor([3., 5.], dtype=torch.float64)");
}

TEST(Views, transposed_and_diagonal) {
  Tensor a = count_leaf(6), x = view(a * 1, {2, 3});
  const Tensor v = t(x);
  mul_(select(v, 0, 0), 4);
  EXPECT_EQ(made_by(x) + made_by(v), "AsStridedBackward0AsStridedBackward0");
  EXPECT_EQ(weighted(a, x), "tensor([ 4.,  2.,  3., 16.,  5.,  6.])");
  a = count_leaf(9), x = view(a * 1, {3, 3});
  mul_(diagonal(x), 2);
  EXPECT_EQ(squared(a, x), "tensor([ 8.,  4.,  6.,  8., 40., 12., 14., 16., 72.])");
}

TEST(Views, expanded_memory_is_not_written) {
  const Tensor a = count_leaf(3), x = a * 1, v = expand(x, {2, 3});
  EXPECT_ERROR(mul_(v, 2), "more than one element of the written-to tensor refers to a single memory location");
}

Tensor complex_leaf() {
  const Tensor z = clone(view_as_complex(view(count(4), {2, 2})));
  set_requires_grad(z, true);
  return z;
}

TEST(Views, real_parts_of_complex_numbers) {
  Tensor z = complex_leaf(), x = z * 1;
  mul_(select(view_as_real(x), 1, 0), 3);
  EXPECT_EQ(made_by(x), "CopySlices");
  backward({sum(pow(abs(x), 2))});
  EXPECT_TRUE(allclose(view_as_real(grad(z)), view(tensor({18, 4, 54, 8}), {2, 2}))) << grad_text(z);
  z = complex_leaf(), x = z * 1;
  const Tensor v = imag(x);
  mul_(v, 3);
  EXPECT_EQ(made_by(x) + made_by(v), "CopySlicesAsStridedBackward0");
  backward({sum(pow(abs(x), 2))});
  EXPECT_TRUE(allclose(view_as_real(grad(z)), view(tensor({2, 36, 6, 72}), {2, 2}))) << grad_text(z);
}

TEST(Views, real_numbers_as_complex) {
  const Tensor a = count_leaf(4), x = view(a * 1, {2, 2}), c = view_as_complex(x);
  mul_(c, Scalar(std::complex<double>(0, 1)));
  EXPECT_EQ(made_by(x) + made_by(c), "AsStridedBackward0ViewAsComplexBackward0");
  EXPECT_EQ(weighted(a, x), "tensor([ 2., -1.,  4., -3.])");
}

TEST(Views, double_backward) {
  const Tensor a = count_leaf(4), x = a * 1;
  mul_(part(x, 1, 3), part(a, 0, 2));
  GradOptions graph;
  graph.create_graph = true;
  const Tensor g = grad({sum(pow(x, 3))}, {a}, {}, graph)[0];
  EXPECT_EQ(text(g), "tensor([ 27., 336., 216.,  48.])");
  EXPECT_EQ(text(grad({sum(mul(g, count(4)))}, {a})[0]), "tensor([ 126., 1680., 1080.,   96.])");
}

TEST(Views, double_backward_of_a_saved_result) {
  // sigmoid_ keeps its result, the view: the second backward reaches it beside the base that it was written into.
  const auto second = [](const auto& written) {
    const Tensor x = leaf({0.5, -1, 2}), w = leaf({1, 3, -2});
    const Tensor y = written(mul(x, w));
    GradOptions graph;
    graph.create_graph = true;
    const Tensor first = grad({sum(mul(y, y))}, {x}, {}, graph)[0];
    const std::vector<Tensor> both = grad({sum(mul(first, first))}, {x, w});
    return text(both[0]) + text(both[1]);
  };
  const std::string plain = second([](const Tensor& t) { return sigmoid(t); });
  EXPECT_EQ(second([](const Tensor& t) { return sigmoid_(unsqueeze(t, 0)); }), plain);
  EXPECT_EQ(second([](const Tensor& t) { return sigmoid_(t); }), plain);
  EXPECT_EQ(second([](const Tensor& t) { return sigmoid_(select(stack({t, t}), 0, 1)); }), plain);
  const SavedTensorHooksGuard copies(
      {[](const Tensor& t) { return Value(clone(t)); }, [](const Value& v) { return v.to_tensor(); }});
  EXPECT_EQ(second([](const Tensor& t) { return sigmoid_(select(stack({t, t}), 0, 1)); }), plain);
}

TEST(Views, double_backward_of_slices_in_a_loop) {
  const Tensor a = count_leaf(3), x = zeros({3});
  for (int64_t i = 0; i < 3; ++i) copy_(select(x, 0, i), mul(pow(select(a, 0, i), 2), select(a, 0, (i + 1) % 3)));
  GradOptions graph;
  graph.create_graph = true;
  const Tensor g = grad({sum(mul(x, x))}, {a}, {}, graph)[0];
  EXPECT_EQ(text(g), "tensor([178., 292., 204.])");
  EXPECT_EQ(text(grad({sum(mul(g, g))}, {a})[0]), "tensor([172232., 337488., 246144.])");
}

TEST(Views, functions_that_read_what_they_overwrite) {
  Tensor a = count_leaf(4), x = a * 1;
  pow_(part(x, 0, 4, 2), 3);
  EXPECT_EQ(summed(a, x), "tensor([ 3.,  1., 27.,  1.])");
  a = count_leaf(4), x = a * 1;
  const Tensor v = part(x, 1, 3);
  sin_(v);
  sin_(v);
  EXPECT_EQ(summed(a, x), "tensor([ 1.0000, -0.2556, -0.9802,  1.0000])");
  a = leaf({-1, 2, -3, 4}), x = a * 1;
  relu_(part(x, 1, 4));
  EXPECT_EQ(squared(a, x), "tensor([-2.,  4.,  0.,  8.])");
  a = count_leaf(4), x = a * 1;
  clamp_(part(x, 1, 4), {}, 3.0);
  EXPECT_EQ(squared(a, x), "tensor([2., 4., 6., 0.])");
}

TEST(Views, scatter_and_addmm) {
  Tensor a = count_leaf(6), w = count_leaf(2), x = a * 1;
  scatter_(part(x, 2, 6), 0, mul(arange(2), 3), w * w);
  EXPECT_EQ(squared(a, x), "tensor([ 2.,  4.,  0.,  8., 10.,  0.])");
  EXPECT_EQ(grad_text(w), "tensor([ 4., 32.])");
  a = count_leaf(4), x = view(a * 1, {2, 2});
  const Tensor y = zeros({3, 2, 2});
  addmm_(select(y, 0, 1), x, x);
  EXPECT_EQ(summed(a, y), "tensor([ 7., 11.,  9., 13.])");
}

TEST(Views, as_strided) {
  Tensor a = count_leaf(6), x = a * 1;
  const Tensor v = as_strided(x, {2, 2}, {2, 1}, 1);
  mul_(v, 2);
  EXPECT_EQ(made_by(x) + made_by(v), "CopySlicesAsStridedBackward0");
  EXPECT_EQ(squared(a, x), "tensor([ 2., 16., 24., 32., 40., 12.])");
  a = count_leaf(4);
  EXPECT_EQ(weighted(a, as_strided(a, {3, 2}, {1, 1})), "tensor([1., 5., 9., 6.])");
}

TEST(Views, as_strided_twice_differentiated) {
  const Tensor a = count_leaf(4), v = as_strided(a, {2, 2}, {2, 1}, 0);
  GradOptions graph;
  graph.create_graph = true;
  const Tensor g = grad({sum(pow(v, 3))}, {a}, {}, graph)[0];
  EXPECT_EQ(text(grad({sum(g)}, {a})[0]), "tensor([ 6., 12., 18., 24.])");
}

TEST(Views, assigned_from_itself) {
  const Tensor a = count_leaf(4), x = a * 1;
  copy_(part(x, 1, 4), clone(part(x, 0, 3)) * 2);
  EXPECT_EQ(weighted(a, x), "tensor([5., 6., 8., 0.])");
}

TEST(Views, other_geometry_in_place) {
  Tensor a = count_leaf(6), x = clone(view(a * 1, {2, 3}));
  t_(x);
  EXPECT_EQ(x.sizes(), IntList({3, 2}));
  EXPECT_EQ(weighted(a, x), "tensor([1., 3., 5., 2., 4., 6.])");
  a = count_leaf(3), x = view(a * 1, {3, 1});
  const Tensor v = part(x, 1, 3);
  squeeze_(v, 1);
  mul_(v, 3);
  EXPECT_EQ(made_by(v), "AsStridedBackward0");
  EXPECT_EQ(squared(a, x), "tensor([ 2., 36., 54.])");
}

TEST(Views, graph_kept_and_freed) {
  Tensor a = count_leaf(4), x = a * 1;
  mul_(part(x, 1, 4), 2);
  BackwardOptions keep;
  keep.retain_graph = true;
  backward({sum(x)}, {}, keep);
  EXPECT_EQ(summed(a, x), "tensor([2., 4., 4., 4.])");
  EXPECT_ERROR(backward({sum(x)}), "Trying to backward through the graph a second time");
}

TEST(Views, gradient_for_a_view) {
  const Tensor a = count_leaf(4), x = a * 1, v = part(x, 1, 4), y = sum(x * x);
  EXPECT_ERROR(grad({y}, {v}),
               "appears to not have been used in the graph. Set allow_unused=True if this is the desired");
  mul_(v, 2);
  EXPECT_EQ(text(grad({sum(v * v)}, {v})[0]), "tensor([ 8., 12., 16.])");
}

TEST(Views, retained_gradients) {
  Tensor a = count_leaf(3), x = a * 1;
  retain_grad(x);
  mul_(x, 3);
  EXPECT_EQ(squared(a, x), "tensor([18., 36., 54.])");
  EXPECT_EQ(grad_text(x), "tensor([ 6., 12., 18.])");
  a = count_leaf(3), x = a * 1;
  const Tensor v = part(x, 0, 2);
  retain_grad(v);
  mul_(v, 3);
  EXPECT_EQ(squared(a, x), "tensor([18., 36.,  6.])");
  EXPECT_EQ(grad_text(v), "None");
}

TEST(Views, unsafe_split_gives_tensors_of_their_own) {
  const Tensor a = count_leaf(4), x = a * 1;
  const std::vector<Tensor> parts = unsafe_split(x, 2);
  mul_(parts[0], 2);
  EXPECT_EQ(summed(a, parts[0]), "tensor([2., 2., 0., 0.])");
}

TEST(Views, parts_of_unsafe_splits_count_their_own_writes) {
  const Tensor a = count_leaf(4), x = a * 0;
  const std::vector<Tensor> parts = unsafe_chunk(x, 2);
  sigmoid_(parts[0]);  // its gradient reads the result
  sigmoid_(parts[1]);
  EXPECT_EQ(x.version(), 0u);
  EXPECT_EQ(summed(a, parts[0] * parts[1]), "tensor([0., 0., 0., 0.])");
}

}  // namespace
}  // namespace sconce::autograd
