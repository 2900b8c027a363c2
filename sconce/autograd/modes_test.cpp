// Grad mode, inference mode, and what tensors say of themselves. Values and messages were recorded from PyTorch 2.13.
#include <gtest/gtest.h>

#include "sconce/autograd/backward.h"
#include "sconce/autograd/test_tensors.h"
#include "sconce/dispatch/registry.h"
#include "sconce/ops.h"
#include "sconce/tensor/grad_mode.h"
#include "sconce/testing/error_of.h"

namespace sconce::autograd {
namespace {

bool is_inference_tensor(const Tensor& t) { return t.impl()->meta & TensorImpl::inference; }
Tensor inference_tensor() {
  const InferenceMode mode;
  return tensor({1, 2, 3});
}

TEST(Modes, results_without_grad_are_leaves) {
  const Tensor a = leaf({1, 2});
  const NoGrad off;
  const Tensor y = a * 2;
  EXPECT_TRUE(!y.requires_grad() && is_leaf(y));
}

TEST(Modes, nest) {
  const Tensor a = leaf({1});
  const NoGrad off;
  EXPECT_FALSE(grad_enabled());
  {
    const EnableGrad on;
    EXPECT_TRUE((a * 2).requires_grad());
  }
  EXPECT_FALSE((a * 2).requires_grad());
}

TEST(Modes, inference_tensors_are_not_written_elsewhere) {
  const Tensor x = inference_tensor();
  const char* message = "Inplace update to inference tensor outside InferenceMode is not allowed.";
  EXPECT_ERROR(mul_(x, 2), message);
  Tensor out = inference_tensor();
  EXPECT_ERROR(mul_out(out, tensor({1, 2, 3}), tensor({1, 2, 3})), message);
  const NoGrad off;
  EXPECT_ERROR(mul_(x, 2), message);
}

TEST(Modes, inference_tensors_are_not_saved) {
  const Tensor w = leaf({1, 2, 3}), x = inference_tensor();
  EXPECT_ERROR(
      mul(w, x),
      "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in "
      "computation tracked by autograd. To work around this, you can make a clone to get a normal tensor and use "
      "it in autograd, or use `torch.no_grad()` instead of `torch.inference_mode()`.");
  const Tensor y = w + x;
  EXPECT_TRUE(y.requires_grad() && !is_inference_tensor(y));
}

TEST(Modes, inference_tensors_do_not_require_grad) {
  const Tensor x = inference_tensor();
  EXPECT_ERROR(set_requires_grad(x, true),
               "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.");
  const Tensor copy = clone(x);
  EXPECT_FALSE(is_inference_tensor(copy));
  set_requires_grad(copy, true);
  const InferenceMode mode;
  const Tensor inside = tensor({1});
  set_requires_grad(inside, true);
  EXPECT_TRUE(inside.requires_grad());
  EXPECT_FALSE((inside * 2).requires_grad());
}

TEST(Modes, views_of_inference_tensors_are_inference_tensors) {
  const Tensor v = view(inference_tensor(), {-1});
  EXPECT_TRUE(is_inference_tensor(v) && !v.requires_grad());
}

TEST(Modes, views_in_inference_mode_of_other_tensors) {
  const auto hidden = [](const Tensor& t) {
    const InferenceMode mode;
    return view(t, {-1});
  };
  const Tensor plain = tensor({1, 2});
  const Tensor v = hidden(plain);
  EXPECT_FALSE(is_inference_tensor(v) || v.requires_grad());
  mul_(v, 2);
  EXPECT_EQ(text(plain), "tensor([2., 4.])");
  const std::string rest =
      " in normal mode. Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your "
      "code by "
      "moving both the view and the inplace either both inside the inference_mode block (if you don't want the inplace "
      "to be "
      "tracked) or both outside (if you want the inplace to be tracked).";
  const Tensor x = leaf({1, 2}) * 1, w = hidden(x);
  EXPECT_ERROR(mul_(w, 2), "A view was created in inference mode and is being modified inplace" + rest);
  mul_(x, 2);
  EXPECT_ERROR(mul(w, 2),
               "A view was created in inference mode and its base or another view of its base has been modified "
               "inplace" +
                   rest);
}

TEST(Modes, writes_in_inference_mode_are_counted) {
  const Tensor x = tensor({1, 2}), y = leaf({1, 2});
  {
    const InferenceMode mode;
    mul_(x, 2);
    mul_(y, 2);
  }
  EXPECT_EQ(text(x) + text(y), "tensor([2., 4.])tensor([2., 4.])");
  EXPECT_EQ(x.version() + y.version(), 2u);
  EXPECT_ERROR(inference_tensor().version(), "Inference tensors do not track version counter.");
}

TEST(Modes, backward_in_inference_mode) {
  const Tensor w = leaf({1, 2}), y = sum(w * 2);
  const InferenceMode mode;
  backward({y});
  EXPECT_EQ(grad_text(w), "tensor([2., 2.])");
}

TEST(Modes, enable_grad_does_not_end_inference_mode) {
  const Tensor w = leaf({1, 2});
  const InferenceMode mode;
  {
    const EnableGrad on;
    const Tensor y = w * 2;
    EXPECT_TRUE(!y.requires_grad() && is_inference_tensor(y) && grad_enabled());
  }
  const InferenceMode outside(false);
  const Tensor y = w * 2;
  EXPECT_TRUE(y.requires_grad() && !is_inference_tensor(y) && grad_enabled());
}

TEST(Modes, requires_grad_is_for_floats_and_leaves) {
  const Tensor numbers = arange(3), x = leaf({1, 2}) * 1;
  EXPECT_ERROR(set_requires_grad(numbers, true), "only Tensors of floating point dtype can require gradients");
  set_requires_grad(numbers, false);
  EXPECT_ERROR(set_requires_grad(x, false),
               "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in a "
               "subgraph that doesn't require differentiation use var_no_grad = var.detach().");
  set_requires_grad(x, true);
  EXPECT_TRUE(x.requires_grad());
}

TEST(Modes, view_follows_its_base) {
  const Tensor x = leaf({1, 2});
  Tensor v;
  {
    const NoGrad off;
    v = view(x, {-1});
  }
  set_requires_grad(v, false);
  EXPECT_TRUE(v.requires_grad());
}

TEST(Modes, detach_in_place) {
  const Tensor a = leaf({1, 2}), x = a * 1;
  detach_(x);
  EXPECT_TRUE(!x.requires_grad() && is_leaf(x));
  detach_(a);
  EXPECT_FALSE(a.requires_grad());
  const char* message = "Can't detach views in-place. Use detach() instead.";
  EXPECT_ERROR(detach_(slice(leaf({1, 2}) * 1, 0, 1, 2)), message);
  EXPECT_ERROR(detach_(slice(tensor({1, 2}), 0, 1, 2)), message);
}

TEST(Modes, detached_tensors_share_the_version) {
  const Tensor a = leaf({1, 2}), d = detach(a), e = data(a);
  EXPECT_TRUE(!d.requires_grad() && is_leaf(d) && !d.is_view());
  mul_(d, 2);
  EXPECT_EQ(a.version(), 1u);
  EXPECT_EQ(d.version(), 1u);
  mul_(e, 2);
  EXPECT_EQ(a.version(), 1u);
  EXPECT_EQ(text(a), "tensor([4., 8.])");
}

TEST(Modes, data_is_replaced) {
  const Tensor a = leaf({1, 2, 3}), b = tensor({5, 6});
  mul_(b, 1);
  set_data(a, b);
  EXPECT_EQ(text(a), "tensor([5., 6.])");
  EXPECT_TRUE(a.requires_grad() && is_leaf(a));
  EXPECT_EQ(a.version(), 0u);
  EXPECT_ERROR(set_data(a, arange(2)),
               "data set to a tensor that requires gradients must be floating point or complex dtype");
}

TEST(Modes, resize_needs_a_constant) {
  const char* message = "cannot resize variables that require grad";
  const Tensor a = leaf({1, 2, 3});
  EXPECT_ERROR(resize_(a, {2}), message);
  EXPECT_ERROR(resize_(a * 1, {2}), message);
  EXPECT_ERROR(resize_as_(a, tensor({1})), message);
  const NoGrad off;
  EXPECT_ERROR(resize_(a, {2}), message);
}

TEST(Modes, set_has_no_derivative) {
  EXPECT_ERROR(set_(leaf({1, 2}), tensor({1})),
               "a leaf Variable that requires grad is being used in an in-place operation.");
  const Tensor x = leaf({1, 2}) * 1;
  set_(x, tensor({7}));
  EXPECT_TRUE(x.requires_grad());
  EXPECT_EQ(text(x), "tensor([7.])");
}

TEST(Modes, gradients_are_assigned) {
  const Tensor a = leaf({1, 2, 3});
  EXPECT_ERROR(
      set_grad(a, tensor({1, 2})),
      "attempting to assign a gradient of size '[2]' to a tensor of size '[3]'. Please ensure that the gradient and "
      "the tensor are the same size");
  EXPECT_ERROR(set_grad(a, arange(3)),
               "attempting to assign a gradient with dtype 'int64' to a tensor with dtype 'float32'");
  EXPECT_ERROR(set_grad(a, a), "can't assign Variable as its own grad");
  EXPECT_ERROR(retain_grad(tensor({1})), "can't retain_grad on Tensor that has requires_grad=False");
  retain_grad(a);
  EXPECT_FALSE(retains_grad(a));
  const Tensor y = a * 2;
  EXPECT_FALSE(retains_grad(y));
  retain_grad(y);
  EXPECT_TRUE(retains_grad(y));
}

TEST(Modes, numbers_of_tensors_that_require_grad) {
  const Tensor a = leaf({3});
  EXPECT_EQ(item(a).to_double(), 3);
}

TEST(Modes, constructors) {
  const Value list(std::vector<double>{1, 2});
  const Tensor t = call_op("aten::tensor", {list}, {{"requires_grad", true}})[0].to_tensor();
  EXPECT_TRUE(t.requires_grad() && is_leaf(t));
  EXPECT_TRUE(call_op("aten::tensor.float", {1.5}, {{"requires_grad", true}})[0].to_tensor().requires_grad());
  EXPECT_ERROR(call_op("aten::tensor.int", {int64_t{1}}, {{"requires_grad", true}}),
               "Only Tensors of floating point and complex dtype can require gradients");
}

TEST(Modes, printed) {
  const Tensor a = leaf({1, 2}), b = a * 2;
  EXPECT_EQ(a.to_string(), "tensor([1., 2.], requires_grad=True)");
  EXPECT_EQ((a * a).to_string(), "tensor([1., 4.], grad_fn=<MulBackward0>)");
  mul_(select(b, 0, 0), 1);
  EXPECT_EQ(b.to_string(), "tensor([2., 4.], grad_fn=<CopySlices>)");
  EXPECT_EQ(select(b, 0, 0).to_string(), "tensor(2., grad_fn=<SelectBackward0>)");
  const Tensor d = to(a, DType::float64);
  EXPECT_EQ((d * d).to_string(), "tensor([1., 4.], dtype=torch.float64, grad_fn=<MulBackward0>)");
  const Tensor many = arange(0, 12, DType::float32);
  set_requires_grad(many, true);
  EXPECT_EQ(many.to_string(),
            "tensor([ 0.,  1.,  2.,  3.,  4.,  5.,  6.,  7.,  8.,  9., 10., 11.],\n       requires_grad=True)");
  EXPECT_EQ((many * many * 0 + many).to_string(),
            "tensor([ 0.,  1.,  2.,  3.,  4.,  5.,  6.,  7.,  8.,  9., 10., 11.],\n       grad_fn=<AddBackward0>)");
  EXPECT_EQ(
      mul(slice(many, 0, 0, 11), tensor(std::vector<float>(11, 1.5))).to_string(),
      "tensor([ 0.0000,  1.5000,  3.0000,  4.5000,  6.0000,  7.5000,  9.0000, 10.5000,\n        12.0000, 13.5000, "
      "15.0000], grad_fn=<MulBackward0>)");
  const Tensor x = a * 1;
  const std::vector<Tensor> parts = split(x, 1);
  mul_(x, 2);
  EXPECT_EQ(parts[0].to_string(), "tensor([2.], grad_fn=<Invalid>)");
}

}  // namespace
}  // namespace sconce::autograd
