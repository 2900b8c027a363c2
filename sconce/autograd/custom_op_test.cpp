// How operators of libraries are differentiated.
#include <gtest/gtest.h>

#include "sconce/autograd/backward.h"
#include "sconce/autograd/custom_function.h"
#include "sconce/autograd/test_tensors.h"
#include "sconce/dispatch/library.h"
#include "sconce/dispatch/registry.h"
#include "sconce/ops.h"
#include "sconce/testing/error_of.h"

namespace sconce::autograd {
namespace {

using sconce::testing::error_of;

Tensor scaled_product(const Tensor& a, const Tensor& b, double scale) {
  Tensor out = empty_tensor(a.sizes(), DType::float32);
  for (int64_t i = 0; i < a.numel(); ++i) {
    out.data<float>()[i] = a.data<float>()[i] * b.data<float>()[i] * static_cast<float>(scale);
  }
  return out;
}
std::tuple<Tensor, Tensor> both(const Tensor& a) { return {mul(a, 2), mul(a, 3)}; }
void double_(const Tensor& self) {
  for (int64_t i = 0; i < self.numel(); ++i) self.data<float>()[i] *= 2;
  self.bump_version();
}
Tensor of_operators(const Tensor& a) { return exp(mul(a, 0)) * a; }
Tensor opaque(const Tensor& a) { return scaled_product(a, a, 1); }

struct Triple : Function<Triple> {
  static Tensor forward(Context&, const Tensor& x) { return opaque(x); }
  static std::vector<Tensor> backward(Context&, const std::vector<Tensor>& grads) { return {grads[0] * 3}; }
};
Tensor with_autograd(const Tensor& a) { return Triple::apply(a); }

Tensor call(const char* name, std::vector<Value> args) {
  static const library::Registration registration("custom_op_test", false, "custom_op_test.cpp", [](Library& m) {
    m.def("scaled_product(Tensor a, Tensor b, float scale) -> Tensor");
    m.impl("scaled_product", Key::cpu, &scaled_product);
    m.derivative("scaled_product", R"(a, b:
  ga = grad * b * scale if needs[0] else None
  gb = grad * a * scale if needs[1] else None
  return ga, gb)");
    m.def("both(Tensor a) -> (Tensor x, Tensor y)");
    m.impl("both", Key::cpu, &both);
    m.derivative("both", "a: grads[0] * 2 + grads[1] * 3");
    m.def("double_(Tensor(a!) self) -> Tensor(a!)");
    m.impl("double_", Key::cpu, &double_);
    m.derivative("double_", "self: grad * 2");
    m.def("of_operators(Tensor a) -> Tensor");
    m.impl("of_operators", Key::cpu, &of_operators);
    m.def("opaque(Tensor a) -> Tensor");
    m.impl("opaque", Key::cpu, &opaque);
    m.def("with_autograd(Tensor a) -> Tensor");
    m.impl("with_autograd", Key::cpu, &opaque);
    m.impl("with_autograd", Key::autograd, &with_autograd);
    m.compound("cube(Tensor a) -> Tensor", "return a * a * a");
  });
  return call_op(std::string("custom_op_test::") + name, std::move(args))[0].to_tensor();
}

TEST(CustomOp, is_differentiated_by_its_formulas) {
  const Tensor a = leaf({1, 2}), b = leaf({3, 4});
  const Tensor y = call("scaled_product", {a, b, 10.0});
  EXPECT_EQ(grad_fn(y)->name(), "ScaledProductBackward0");
  backward({sum(y)});
  EXPECT_EQ(grad_text(a), "tensor([30., 40.])");
  EXPECT_EQ(grad_text(b), "tensor([10., 20.])");
  EXPECT_EQ(text(grad({sum(call("scaled_product", {a, b, 1.0}))}, {b})[0]), "tensor([1., 2.])");  // one is asked for
}

TEST(CustomOp, has_several_results) {
  const Tensor a = leaf({1, 2});
  backward({sum(call("both", {a}))});
  EXPECT_EQ(grad_text(a), "tensor([2., 2.])");
}

TEST(CustomOp, works_in_place) {
  const Tensor a = leaf({1, 2});
  const Tensor b = a * 3;
  call("double_", {b});
  backward({sum(b)});
  EXPECT_EQ(grad_text(a), "tensor([6., 6.])");
}

TEST(CustomOp, is_differentiated_by_what_it_calls) {
  const Tensor a = leaf({1, 2});
  backward({sum(call("of_operators", {a}))});
  EXPECT_EQ(grad_text(a), "tensor([1., 1.])");
  backward({sum(call("cube", {a}))});
  EXPECT_EQ(grad_text(a), "tensor([ 4., 13.])");
}

TEST(CustomOp, keeps_its_own_kernel_for_autograd) {
  const Tensor a = leaf({1, 2});
  backward({sum(call("with_autograd", {a}))});
  EXPECT_EQ(grad_text(a), "tensor([3., 3.])");
}

TEST(CustomOp, without_derivative_is_an_error_in_backward) {
  const Tensor a = leaf({1, 2});
  const Tensor y = call("opaque", {a});
  EXPECT_TRUE(y.requires_grad());
  EXPECT_TRUE(
      error_of([&] { backward({sum(y)}); }).starts_with("derivative for custom_op_test::opaque is not implemented"));
}

}  // namespace
}  // namespace sconce::autograd
