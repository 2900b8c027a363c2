// Conjugate and negative views: Note [Math bits] in tensor/math_bits.h. Values are PyTorch 2.13's.
#include "sconce/tensor/math_bits.h"

#include <gtest/gtest.h>

#include "sconce/autograd/backward.h"
#include "sconce/autograd/test_tensors.h"
#include "sconce/dispatch/registry.h"
#include "sconce/ops.h"
#include "sconce/tensor/copy.h"
#include "sconce/testing/error_of.h"

namespace sconce {
namespace {

using Complex = std::complex<double>;

// (1 + 1j, 2 - 3j)
Tensor pair() { return complex(autograd::tensor({1, 2}), autograd::tensor({1, -3})); }
std::string text(const Tensor& t) { return t.to_string(); }

TEST(MathBits, conj_is_a_view) {
  const Tensor x = pair(), c = conj(x);
  EXPECT_TRUE(is_conj(c) && has_math_bits(c) && !is_neg(c) && !is_conj(x));
  EXPECT_EQ(c.storage(), x.storage());
  EXPECT_EQ(text(c), "tensor([1.-1.j, 2.+3.j])");
  fill_(select(c, 0, 0), Scalar(Complex(0, 5)));
  EXPECT_EQ(text(x), "tensor([0.-5.j, 2.-3.j])");
  EXPECT_FALSE(has_math_bits(conj(c)));
  const Tensor real_one = ones({2});
  EXPECT_TRUE(conj(real_one).is_same(real_one));
}

TEST(MathBits, imag_of_conj_is_a_negative_view) {
  const Tensor x = pair(), i = imag(conj(x));
  EXPECT_TRUE(is_neg(i) && !is_conj(i));
  EXPECT_EQ(text(i), "tensor([-1.,  3.])");
  add_(i, 1);
  EXPECT_EQ(text(x), "tensor([1.-0.j, 2.-4.j])");
  EXPECT_FALSE(is_neg(imag(_neg_view(conj(x)))));
}

TEST(MathBits, operators_see_plain_tensors) {
  const Tensor x = pair(), c = conj(x), n = _neg_view(c);
  EXPECT_EQ(text(add(c, n)), "tensor([0.+0.j, 0.+0.j])");
  EXPECT_EQ(text(matmul(c, x)), "tensor(15.+0.j)");
  EXPECT_EQ(text(cat({c, n})), "tensor([ 1.-1.j,  2.+3.j, -1.+1.j, -2.-3.j])");
  EXPECT_EQ(item_of(select(n, 0, 1)).to_complex(), Complex(-2, -3));
  EXPECT_TRUE(equal(c, conj_physical(x)));
}

TEST(MathBits, written_arguments_are_written_back) {
  const Tensor x = pair(), c = conj(x);
  const uint32_t before = x.version();
  EXPECT_TRUE(add_(c, x).is_same(c));
  EXPECT_EQ(x.version(), before + 1);
  EXPECT_EQ(text(x), "tensor([2.-0.j, 4.-0.j])");
  add_out(c, pair(), pair());
  EXPECT_EQ(text(x), "tensor([2.-2.j, 4.+6.j])");
  const Tensor grown = zeros({0}, DType::complex64), g = conj(grown);
  mul_out(g, pair(), pair());
  EXPECT_EQ(text(g), "tensor([ 0.+2.j, -5.-12.j])");
}

TEST(MathBits, boxed_calls_with_lists) {
  const Tensor c = conj(pair());
  const Value list = TensorList{&c, 1};
  EXPECT_EQ(text(call_op("aten::stack", {list, 0}).at(0).to_tensor()), "tensor([[1.-1.j, 2.+3.j]])");
  EXPECT_TRUE(is_conj(list.to_list().tensors()[0]));
}

TEST(MathBits, copies_between_bits) {
  const Tensor x = pair(), y = zeros({2}, DType::complex64);
  copy_tensor(conj(y), x);
  EXPECT_EQ(text(y), "tensor([1.-1.j, 2.+3.j])");
  copy_tensor(_neg_view(y), conj(x));
  EXPECT_EQ(text(y), "tensor([-1.+1.j, -2.-3.j])");
  copy_(x, conj(x));
  EXPECT_EQ(text(x), "tensor([1.-1.j, 2.+3.j])");
  EXPECT_EQ(text(to(conj(x), DType::complex128)), "tensor([1.+1.j, 2.-3.j], dtype=torch.complex128)");
}

TEST(MathBits, meta_tensors) {
  const Tensor m = empty({2, 3}, DType::complex64, {}, Device(DeviceType::meta));
  EXPECT_TRUE(is_conj(mH(m)) && is_neg(imag(conj(m))));
  EXPECT_FALSE(is_conj(add(mH(m), 1)));
  add_(conj(m), 1);
  EXPECT_EQ(mul(conj(m), 2).sizes(), IntList({2, 3}));
}

TEST(MathBits, refused) {
  const Tensor c = conj(pair());
  EXPECT_ERROR(view_as_real(c), "view_as_real doesn't work on unresolved conjugated tensors.");
  EXPECT_ERROR(_conj(ones({2})), "_conj() expects a complex tensor, got float32");
}

TEST(MathBits, gradients_of_written_views) {
  const Tensor x = pair();
  autograd::set_requires_grad(x, true);
  const Tensor y = mul(x, 1), c = conj(y);
  mul_(c, Scalar(Complex(0, 1)));
  autograd::backward({sum(real(mul(y, complex(autograd::tensor({1, 0}), autograd::tensor({0, 1})))))});
  EXPECT_EQ(text(autograd::grad(x)), "tensor([0.+1.j, 1.+0.j])");
}

}  // namespace
}  // namespace sconce
