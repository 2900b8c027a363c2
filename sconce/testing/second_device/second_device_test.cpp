// A device that only has a Backend: what it runs, what it refuses, and that host code stays out of its memory.
#include "sconce/testing/second_device/second_device.h"

#include <gtest/gtest.h>

#include "sconce/autograd/backward.h"
#include "sconce/autograd/variable.h"
#include "sconce/dispatch/registry.h"
#include "sconce/ops.h"
#include "sconce/tensor/copy.h"
#include "sconce/testing/error_of.h"

namespace sconce {
namespace {

using testing::error_of;
using testing::kSecondDevice;

class SecondDevice : public ::testing::Test {
 protected:
  void SetUp() override {
    testing::register_second_device();
    bytes_ = testing::second_device_bytes();
  }
  void TearDown() override {
    EXPECT_EQ(testing::take_touch(), "");
    EXPECT_EQ(testing::second_device_bytes(), bytes_);
  }

 private:
  size_t bytes_ = 0;
};

Tensor on_device(const Tensor& t) { return to(t, kSecondDevice, t.dtype()); }

std::vector<double> values_of(const Tensor& t) {
  const Tensor host = to(contiguous(host_copy(t)), DType::float64);
  return {host.data<double>(), host.data<double>() + host.numel()};
}

using Values = std::vector<double>;

TEST_F(SecondDevice, TensorsAreMadeThere) {
  const Tensor t = ones({2, 3}, DType::int32, {}, Device(DeviceType::privateuse1));
  EXPECT_EQ(t.device(), kSecondDevice);
  EXPECT_TRUE(t.keys().has(Key::privateuse1));
  EXPECT_FALSE(t.keys().has(Key::cpu));
  EXPECT_EQ(values_of(t), (Values{1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(error_of([] { empty_tensor({2}, DType::float32, Device(DeviceType::privateuse1, 1)); }),
            "there is no device privateuseone:1: the second device is one");
}

TEST_F(SecondDevice, CopiesGoBothWays) {
  const Tensor x = sconce::t(view(arange(6), {2, 3}));  // strided
  const Tensor there = on_device(x);
  EXPECT_EQ(there.device(), kSecondDevice);
  EXPECT_EQ(values_of(there), (Values{0, 3, 1, 4, 2, 5}));
  const Tensor halves = to(there, Device(), DType::float16);
  EXPECT_EQ(halves.device(), Device());
  EXPECT_EQ(values_of(halves), values_of(x));
  Tensor wide = zeros({2, 3, 2}, DType::float64, {}, kSecondDevice);
  copy_(transpose(wide, 0, 1), reshape(x, {3, 1, 2}));  // strided, broadcast, converted
  EXPECT_EQ(values_of(select(wide, 0, 1)), (Values{0, 3, 1, 4, 2, 5}));
  Tensor host = zeros({3, 2});
  copy_(host, there);
  EXPECT_EQ(values_of(host), values_of(x));
  EXPECT_EQ(values_of(expand(there, {2, 3, 2})), (Values{0, 3, 1, 4, 2, 5, 0, 3, 1, 4, 2, 5}));
}

TEST_F(SecondDevice, PrintsAndGivesItems) {
  const Tensor t = view(on_device(arange(4)), {2, 2});
  EXPECT_EQ(t.to_string(), "tensor([[0, 1],\n        [2, 3]], device='privateuseone:0')");
  EXPECT_EQ(item_of(select(select(t, 0, 1), 0, 1)).to_int(), 3);
  EXPECT_EQ(item_of(scalar_tensor_of(2.5, DType::bfloat16, kSecondDevice)).to_double(), 2.5);
}

TEST_F(SecondDevice, RunsPointwiseOperators) {
  const Tensor a = on_device(to(arange(4), DType::float32)), b = on_device(ones({4}));
  EXPECT_EQ(values_of(add(a, b)), (Values{1, 2, 3, 4}));
  EXPECT_EQ(values_of(mul(view(a, {4, 1}), b)).size(), 16u);
  EXPECT_EQ(values_of(add(a, scalar_tensor_of(2, DType::int64))),
            (Values{2, 3, 4, 5}));  // a number on the CPU may join
  EXPECT_EQ(values_of(where(gt(a, Scalar(1)), a, b)), (Values{1, 1, 2, 3}));
  add_(a, b);
  EXPECT_EQ(values_of(a), (Values{1, 2, 3, 4}));
  Tensor out = empty_tensor({0}, DType::float32, kSecondDevice);
  mul_out(out, a, a);
  EXPECT_EQ(values_of(out), (Values{1, 4, 9, 16}));
  EXPECT_EQ(out.device(), kSecondDevice);
}

TEST_F(SecondDevice, RunsReductionsViewsAndCompounds) {
  const Tensor a = view(on_device(to(arange(12), DType::float64)), {3, 4});
  EXPECT_EQ(item_of(sum(a)).to_double(), 66);
  EXPECT_EQ(values_of(amax(t(a), {0})), (Values{3, 7, 11}));
  EXPECT_EQ(values_of(std::get<1>(max(a, 1))), (Values{3, 3, 3}));
  EXPECT_EQ(item_of(sum(slice(a, 0, 3, 3))).to_double(), 0);
  EXPECT_EQ(values_of(square(select(a, 0, 0))), (Values{0, 1, 4, 9}));
  EXPECT_EQ(values_of(t(reshape(narrow(a, 0, 1, 1), {2, 2}))), (Values{4, 6, 5, 7}));
}

TEST_F(SecondDevice, DrawsItsOwnNumbers) {
  manual_seed(0);
  const Tensor host = rand({3000});
  manual_seed(0);
  EXPECT_EQ(values_of(rand({3000}, DType::float32, {}, kSecondDevice)), values_of(host));
  EXPECT_ERROR(normal_(empty_tensor({2}, DType::int64, kSecondDevice)), "normal_: not implemented for 'Long'");
}

TEST_F(SecondDevice, ResizesItsMemory) {
  const Tensor t = on_device(arange(3));
  const Tensor rest = slice(t, 0, 1);
  fill_(slice(resize_(t, {100}), 0, 3), 7);
  EXPECT_EQ(item_of(sum(t)).to_int(), 3 + 97 * 7);
  EXPECT_EQ(values_of(rest), (Values{1, 2}));
}

TEST_F(SecondDevice, Differentiates) {
  const Tensor x = on_device(to(arange(3), DType::float32));
  autograd::set_requires_grad(x, true);
  autograd::backward({sum(mul(x, x))});
  EXPECT_EQ(autograd::grad(x).device(), kSecondDevice);
  EXPECT_EQ(values_of(autograd::grad(x)), (Values{0, 2, 4}));
}

TEST_F(SecondDevice, ParametersMoveThereAndBack) {
  const Tensor p = to(arange(3), DType::float32);
  autograd::set_requires_grad(p, true);
  set_data(p, on_device(p));
  EXPECT_EQ(p.device(), kSecondDevice);
  EXPECT_TRUE(p.keys().has(Key::privateuse1));
  EXPECT_FALSE(p.keys().has(Key::cpu));
  EXPECT_TRUE(p.requires_grad());
  autograd::backward({sum(mul(p, p))});
  EXPECT_EQ(values_of(autograd::grad(p)), (Values{0, 2, 4}));
  autograd::set_grad(p, {});
  set_data(p, host_copy(p));
  EXPECT_EQ(p.device(), Device());
  EXPECT_EQ(values_of(p), (Values{0, 1, 2}));
  EXPECT_ERROR(set_data(p, empty_tensor({3}, DType::float32, DeviceType::meta)), "incompatible tensor type");
}

TEST_F(SecondDevice, RefusesByNameWhatItLacks) {
  const Tensor a = on_device(ones({2, 2}));
  EXPECT_ERROR(mm(a, a), "aten::mm: no kernel for PrivateUse1; there are kernels for CPU, Meta");
  EXPECT_ERROR(matmul(a, a), "aten::mm: no kernel for PrivateUse1; there are kernels for CPU, Meta");
  EXPECT_ERROR(sort(a), "no kernel for PrivateUse1");
  // Beside tensors of the CPU, too: nothing falls back to a kernel that would read the device's memory.
  EXPECT_ERROR(mm(ones({2, 2}), a), "no kernel for PrivateUse1");
  EXPECT_ERROR(
      add(ones({2, 2}), a),
      "Expected all tensors to be on the same device, but found at least two devices, cpu and privateuseone:0!");
}

TEST_F(SecondDevice, CustomOperatorsWithoutAKernelAreRefused) {
  Op& op = define_op("second_device_test::touch(Tensor self) -> Tensor");
  op.set_kernel(Key::cpu,
                SCONCE_BOXED_KERNEL(+[](const Op&, KeySet, Value* args, Value* returns) { returns[0] = args[0]; }));
  EXPECT_ERROR(call_op("second_device_test::touch", {Value(on_device(ones({2})))}),
               "second_device_test::touch: no kernel for PrivateUse1; there are kernels for CPU");
}

TEST_F(SecondDevice, NoticesHostCode) {
  const Tensor t = on_device(ones({2}));
  const float read = *static_cast<const volatile float*>(t.data<float>());  // what a CPU kernel would do
  EXPECT_EQ(read, 1);
  EXPECT_NE(testing::take_touch(), "");
  EXPECT_EQ(testing::take_touch(), "");
  *static_cast<volatile float*>(t.data<float>()) = 2;
  EXPECT_NE(testing::take_touch(), "");
}

}  // namespace
}  // namespace sconce
