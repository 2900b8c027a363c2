// Which in-place operations are allowed while gradients are recorded. Messages were recorded from PyTorch 2.13.
#include <gtest/gtest.h>

#include "sconce/autograd/backward.h"
#include "sconce/autograd/test_tensors.h"
#include "sconce/ops.h"
#include "sconce/tensor/grad_mode.h"
#include "sconce/tensor/view_base.h"
#include "sconce/testing/error_of.h"

namespace sconce::autograd {
namespace {

constexpr const char* kLeaf = "a leaf Variable that requires grad is being used in an in-place operation.";
constexpr const char* kLeafView =
    "a view of a leaf Variable that requires grad is being used in an in-place operation.";
constexpr const char* kMultiple =
    " This view is the output of a function that returns multiple views. Such functions do not allow the output views "
    "to be "
    "modified inplace. You should replace the inplace operation by an out-of-place one.";
constexpr const char* kAmbiguous =
    " Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both "
    "the "
    "view and the inplace either both inside the no_grad block (if you don't want the inplace to be tracked) or both "
    "outside "
    "(if you want the inplace to be tracked).";

std::string made_by(const Tensor& t) {
  const Ref<Node> node = grad_fn(t);
  return node ? node->name() : "none";
}
std::string with(const std::string& text, const char* rest) { return text + rest; }

TEST(Inplace, leaves_are_protected) {
  const Tensor x = leaf({1, 2, 3});
  EXPECT_ERROR(mul_(x, 2), kLeaf);
  EXPECT_ERROR(uniform_(x), kLeaf);
  EXPECT_ERROR(unsqueeze_(x, 0), kLeaf);
  EXPECT_ERROR(mul_(view(x, {-1}), 2), kLeafView);
  EXPECT_ERROR(fill_(select(x, 0, 0), 1), kLeafView);
  EXPECT_EQ(text(x), "tensor([1., 2., 3.])");
  EXPECT_EQ(x.version(), 0u);
}

TEST(Inplace, leaves_are_written_without_grad) {
  const Tensor x = leaf({1, 2, 3});
  {
    const NoGrad off;
    mul_(x, 2);
    mul_(select(x, 0, 0), 10);
  }
  EXPECT_EQ(text(x), "tensor([20.,  4.,  6.])");
  EXPECT_TRUE(x.requires_grad() && is_leaf(x));
  EXPECT_EQ(x.version(), 2u);
}

TEST(Inplace, constant_gains_history) {
  const Tensor w = leaf({1, 2, 3}), x = tensor({1, 2, 3});
  mul_(x, w);
  EXPECT_TRUE(x.requires_grad() && !is_leaf(x));
  EXPECT_EQ(made_by(x), "MulBackward0");
  backward({sum(x)});
  EXPECT_EQ(grad_text(w), "tensor([1., 2., 3.])");
}

TEST(Inplace, integers_gain_none) {
  const Tensor x = ones({3}, DType::int64);
  copy_(x, leaf({1, 2, 3}));
  EXPECT_FALSE(x.requires_grad());
}

TEST(Inplace, parts_of_split) {
  const auto x = [] { return leaf({1, 2, 3, 4}) * 1; };
  const std::string tail = with(" is a view and is being modified inplace.", kMultiple);
  EXPECT_ERROR(mul_(unbind(x())[0], 2), "Output 0 of Unbind" + tail);
  EXPECT_ERROR(mul_(split(x(), 2)[0], 2), "Output 0 of Split" + tail);
  EXPECT_ERROR(mul_(split(x(), 4)[0], 2), "Output 0 of Split" + tail);
  EXPECT_ERROR(add_(chunk(x(), 2)[1], 2), tail);
  EXPECT_ERROR(add_(split_with_sizes(x(), {1, 3})[1], 2), "Output 1 of SplitWithSizes" + tail);
  EXPECT_ERROR(mul_(view(split(x(), 2)[0], {-1}), 2), "Output 0 of View" + tail);
  add_(tensor_split(x(), 2)[1], 1);
  add_(hsplit(x(), 2)[1], 1);
}

TEST(Inplace, parts_of_split_without_history) {
  const Tensor x = tensor({1, 2, 3, 4});
  mul_(split(x, 2)[0], 2);
  EXPECT_EQ(text(x), "tensor([2., 4., 3., 4.])");
  EXPECT_ERROR(
      mul_(split(x, 2)[0], leaf({1, 2})),
      with("A view was created in no_grad mode and is being modified inplace with grad mode enabled.", kMultiple));
}

TEST(Inplace, parts_of_split_whose_base_was_written) {
  const std::string message = with(
      "Output 0 of Split is a view and its base or another view of its base has been modified inplace.", kMultiple);
  const Tensor x = leaf({1, 2, 3, 4}) * 1;
  std::vector<Tensor> parts = split(x, 2);
  mul_(x, 2);
  EXPECT_ERROR(sum(parts[0]), message);
  EXPECT_ERROR(grad_fn(parts[0]), message);
  const Tensor y = leaf({1, 2, 3, 4}) * 1;
  parts = split(y, 2);
  mul_(slice(y, 0, 3, 4), 2);
  EXPECT_ERROR(sum(parts[0]), message);
}

TEST(Inplace, views_made_without_grad) {
  const std::string message =
      with("A view was created in no_grad mode and is being modified inplace with grad mode enabled.", kAmbiguous);
  const auto hidden = [](const Tensor& t) {
    const NoGrad off;
    return view(t, {-1});
  };
  EXPECT_ERROR(mul_(hidden(leaf({1, 2}) * 1), 2), message);
  EXPECT_ERROR(mul_(hidden(leaf({1, 2})), 2), message);
  EXPECT_ERROR(mul_(hidden(tensor({1, 2})), leaf({1, 2})), message);
  const Tensor plain = tensor({1, 2});
  mul_(hidden(plain), 2);
  EXPECT_EQ(text(plain), "tensor([2., 4.])");
  EXPECT_ERROR(
      mul_(slice(hidden(leaf({1, 2, 3}) * 1), 0, 0, 2), 2),
      with("Output 0 of Slice is a view of a view which was created in no_grad mode and is being modified inplace "
           "with grad mode enabled.",
           kAmbiguous));
}

TEST(Inplace, views_made_without_grad_whose_base_was_written) {
  const Tensor x = leaf({1, 2}) * 1;
  Tensor v;
  {
    const NoGrad off;
    v = view(x, {-1});
  }
  EXPECT_TRUE(v.requires_grad() && is_leaf(v));
  mul_(x, 2);
  EXPECT_TRUE(v.requires_grad());
  EXPECT_ERROR(mul(v, 2),
               with("A view was created in no_grad mode and its base or another view of its base has been modified "
                    "inplace with grad mode enabled.",
                    kAmbiguous));
  const NoGrad off;
  EXPECT_EQ(text(mul(v, 2)), "tensor([4., 8.])");
}

TEST(Inplace, views_made_and_written_without_grad) {
  const Tensor x = leaf({1, 2});
  const NoGrad off;
  const Tensor v = view(x, {-1});
  mul_(v, 2);
  EXPECT_EQ(text(x), "tensor([2., 4.])");
  EXPECT_TRUE(is_leaf(x) && v.requires_grad());
}

TEST(Inplace, views_made_with_grad_inside_of_no_grad) {
  const Tensor x = leaf({1, 2, 3}) * 1;
  Tensor v;
  {
    const NoGrad off;
    const EnableGrad on;
    v = view(x, {-1});
  }
  mul_(v, 2);
  EXPECT_EQ(made_by(v) + made_by(x), "AsStridedBackward0CopySlices");
}

TEST(Inplace, views_of_a_custom_function) {
  const Tensor x = leaf({1, 2}) * 1, v = view(x, {-1});
  set_view_origin(*v.impl(), ViewOrigin::custom);
  EXPECT_ERROR(
      mul_(v, 2),
      "Output 0 of View is a view and is being modified inplace. This view was created inside a custom Function (or "
      "because an input was returned as-is) and the autograd logic to handle view+inplace would override the custom "
      "backward associated with the custom Function, leading to incorrect gradients. This behavior is forbidden. You "
      "can fix this by cloning the output of the custom Function.");
}

TEST(Inplace, gradient_without_a_way_ends_at_the_view) {
  const Tensor x = leaf({1, 2});
  Tensor v;
  {
    const NoGrad off;
    v = view(x, {-1});
  }
  const Tensor y = v * 2;
  EXPECT_TRUE(y.requires_grad());
  backward({sum(y)});
  EXPECT_EQ(grad_text(v) + grad_text(x), "NoneNone");
}

TEST(Inplace, base_that_requires_grad_later) {
  const Tensor x = tensor({1, 2}), v = view(x, {-1});
  set_requires_grad(x, true);
  EXPECT_TRUE(v.requires_grad() && is_leaf(v));
  EXPECT_ERROR(mul_(v, 2), kLeafView);
  {
    const NoGrad off;
    mul_(x, 2);
  }
  EXPECT_EQ(made_by(v), "AsStridedBackward0");
  backward({sum(v * 3)});
  EXPECT_EQ(grad_text(x), "tensor([3., 3.])");
}

TEST(Inplace, view_that_is_a_leaf) {
  const Tensor x = tensor({1, 2, 3, 4}), v = slice(x, 0, 0, 2);
  set_requires_grad(v, true);
  EXPECT_TRUE(!x.requires_grad() && is_leaf(v));
  backward({sum(v * 3)});
  EXPECT_EQ(grad_text(v), "tensor([3., 3.])");
  mul_(x, 2);
  EXPECT_TRUE(v.requires_grad() && is_leaf(v) && !x.requires_grad());
  EXPECT_ERROR(mul_(v, 2), kLeafView);
  mul_(x, leaf({1, 2, 3, 4}));
  EXPECT_EQ(made_by(v), "AsStridedBackward0");
}

TEST(Inplace, outputs_saved_for_backward) {
  Tensor a = leaf({1, 2, 3}), y = sigmoid(a);
  mul_(y, 2);
  EXPECT_ERROR(backward({sum(y)}),
               "[torch.FloatTensor [3]], which is output 0 of Sigmoid, is at version 1; expected "
               "version 0 instead. Hint: enable anomaly detection to find the operation that failed to "
               "compute its gradient, with torch.autograd.set_detect_anomaly(True, check_nan=False).");
  y = exp(a);
  mul_(detach(y), 2);
  EXPECT_ERROR(backward({sum(y)}), "which is output 0 of Exp, is at version 1; expected version 0 instead.");
  const Tensor zero = leaf({0, 0});
  y = exp(zero);
  mul_(data(y), 2);
  backward({sum(y)});
  EXPECT_EQ(grad_text(zero), "tensor([2., 2.])");
}

TEST(Inplace, leaves_saved_for_backward) {
  const Tensor a = leaf({1, 2, 3}), y = a * a;
  {
    const NoGrad off;
    add_(a, 1);
  }
  EXPECT_ERROR(backward({sum(y)}), "[torch.FloatTensor [3]] is at version 1; expected version 0 instead.");
}

TEST(Inplace, what_is_not_saved_may_change) {
  const Tensor a = leaf({1, 2, 3}), x = a * 1, y = x + x;
  mul_(x, 2);
  backward({sum(y)});
  EXPECT_EQ(grad_text(a), "tensor([2., 2., 2.])");
}

TEST(Inplace, constants_overwrite_history) {
  const auto check = [](const char* node, const std::function<void(const Tensor&)>& write) {
    const Tensor a = leaf({1, 2, 3}), x = a * 1;
    write(x);
    EXPECT_TRUE(x.requires_grad());
    EXPECT_EQ(made_by(x), node);
    backward({sum(x)});
    EXPECT_EQ(grad_text(a), "tensor([0., 0., 0.])") << node;
  };
  check("ZeroBackward0", [](const Tensor& x) { zero_(x); });
  check("GeBackward0", [](const Tensor& x) { ge_(x, 2); });
  check("UniformBackward0", [](const Tensor& x) { uniform_(x); });
  check("NormalBackward0", [](const Tensor& x) { normal_(x); });
}

TEST(Inplace, without_grad_history_stays) {
  const Tensor a = leaf({1, 2, 3}), x = a * 1;
  {
    const NoGrad off;
    mul_(x, 5);
  }
  EXPECT_EQ(made_by(x), "MulBackward1");
  backward({sum(x)});
  EXPECT_EQ(grad_text(a), "tensor([1., 1., 1.])");
  const Tensor b = leaf({1, 2, 3}), y = b * 1, v = slice(y, 0, 0, 2);
  {
    const NoGrad off;
    mul_(v, 5);
  }
  EXPECT_EQ(made_by(v), "AsStridedBackward0");
  backward({sum(v * v)});
  EXPECT_EQ(grad_text(b), "tensor([10., 20.,  0.])");
}

TEST(Inplace, out_is_refused) {
  const Tensor x = tensor({1, 2});
  const char* message =
      "mul(): functions with out=... arguments don't support automatic differentiation, but one of the arguments "
      "requires grad.";
  Tensor out = leaf({0, 0});
  EXPECT_ERROR(mul_out(out, x, x), message);
  out = tensor({0, 0});
  EXPECT_ERROR(mul_out(out, leaf({1, 2}), x), message);
}

}  // namespace
}  // namespace sconce::autograd
