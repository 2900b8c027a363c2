#include "sconce/kernels/dense_tape.h"

#include <gtest/gtest.h>

#include "sconce/autograd/variable.h"
#include "sconce/dispatch/registry.h"
#include "sconce/sconce.hpp"
#include "sconce/tensor/grad_mode.h"

namespace sconce {
namespace {

using Argument = DenseTape::Builder::Argument;

Argument slot(int32_t number) { return {number, Value()}; }
Argument number(double v) { return {-1, Value(v)}; }
Argument number(int64_t v) { return {-1, Value(v)}; }

// relu(x + y) * 2 - x
std::unique_ptr<DenseTape> chain(const Tensor& x) {
  DenseTape::Builder b(x.dtype(), x.sizes(), 2);
  b.call(*find_op("aten::add.Tensor"), std::vector{slot(0), slot(1), number(int64_t{1})});
  b.call(*find_op("aten::relu"), std::vector{slot(2)});
  b.call(*find_op("aten::mul.Scalar"), std::vector{slot(3), number(2.0)});
  b.call(*find_op("aten::sub.Tensor"), std::vector{slot(4), slot(0), number(int64_t{1})});
  const int32_t outputs[] = {5};
  return b.finish(outputs);
}
Tensor eagerly(const Tensor& x, const Tensor& y) { return sub(mul(relu(add(x, y)), 2.0), x); }

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.sizes() == b.sizes() && a.strides() == b.strides() &&
         std::memcmp(a.data(), b.data(), static_cast<size_t>(a.numel()) * a.item_size()) == 0;
}

// A tape stands back for good once memory of tensors has moved (Note [Memory that moves]), as that of other tests in
// the same process may have. Their tensors are gone: these tests see the process as it was before.
class DenseTapeTest : public testing::Test {
 protected:
  DenseTapeTest() : moved_(storages_moved.exchange(false)) {}
  ~DenseTapeTest() override {
    if (moved_) storages_moved = true;
  }

 private:
  const bool moved_;
};

TEST_F(DenseTapeTest, gives_eagers_bits) {
  manual_seed(7);
  for (const DType dtype : {DType::float32, DType::float64}) {
    const std::vector<std::vector<int64_t>> shapes = {{1}, {8}, {17}, {3, 5}, {2, 3, 4}};
    for (const std::vector<int64_t>& sizes : shapes) {
      const Tensor x = randn(sizes, dtype), y = randn(sizes, dtype);
      const auto tape = chain(x);
      ASSERT_TRUE(tape);
      const Tensor* inputs[] = {&x, &y};
      Tensor result;
      ASSERT_TRUE(tape->run(inputs, &result));
      EXPECT_TRUE(same_bits(result, eagerly(x, y)));
    }
  }
}

TEST_F(DenseTapeTest, takes_any_shape) {
  const auto tape = chain(ones({4}));
  ASSERT_TRUE(tape);
  for (int64_t n : {1, 2, 63, 64, 65, 512}) {
    const Tensor x = randn({2, n / 2 + 1}), y = randn({2, n / 2 + 1});
    const Tensor* inputs[] = {&x, &y};
    Tensor result;
    const bool small = x.numel() <= 512;
    ASSERT_EQ(tape->run(inputs, &result), small);
    if (!small) continue;
    EXPECT_TRUE(same_bits(result, eagerly(x, y)));
  }
}

TEST_F(DenseTapeTest, leaves_unusual_tensors_alone) {
  const Tensor x = randn({4, 4}), y = randn({4, 4});
  const auto tape = chain(x);
  ASSERT_TRUE(tape);
  const auto runs = [&](const Tensor& a, const Tensor& b) {
    const Tensor* inputs[] = {&a, &b};
    Tensor result;
    return tape->run(inputs, &result);
  };
  EXPECT_TRUE(runs(x, y));
  EXPECT_FALSE(runs(x, t(y)));                                       // strides
  EXPECT_FALSE(runs(x, randn({4})));                                 // broadcasting
  EXPECT_FALSE(runs(x, view(randn({16}), {4, 4})));                  // a view
  EXPECT_FALSE(runs(to(x, DType::float64), to(y, DType::float64)));  // another dtype
  EXPECT_FALSE(runs(randn({4, 0}), randn({4, 0})));
  Tensor w = randn({4, 4});
  autograd::set_requires_grad(w, true);
  EXPECT_FALSE(runs(x, w));
  {
    const NoGrad no_grad;
    EXPECT_TRUE(runs(x, w));
  }
  EXPECT_FALSE(runs(x, w));
}

TEST_F(DenseTapeTest, refuses_what_is_not_one_loop) {
  const Tensor x = ones({4}), i = arange(4);
  const auto made = [](const Tensor& t, const char* op, std::vector<Argument> arguments) {
    DenseTape::Builder b(t.dtype(), t.sizes(), 1);
    b.call(*find_op(op), arguments);
    const int32_t outputs[] = {1};
    return b.finish(outputs) != nullptr;
  };
  EXPECT_TRUE(made(x, "aten::relu", {slot(0)}));
  EXPECT_TRUE(made(i, "aten::neg", {slot(0)}));
  EXPECT_TRUE(made(x, "aten::add.Scalar", {slot(0), number(1.5), number(int64_t{1})}));
  EXPECT_FALSE(made(i, "aten::add.Scalar", {slot(0), number(1.5), number(int64_t{1})}));  // a float in the end
  EXPECT_FALSE(made(i, "aten::sin", {slot(0)}));
  EXPECT_FALSE(made(x, "aten::lt.Scalar", {slot(0), number(1.5)}));                   // bools
  EXPECT_FALSE(made(i, "aten::floor_divide.Scalar", {slot(0), number(int64_t{2})}));  // an error for zeros
  EXPECT_FALSE(made(x, "aten::t", {slot(0)}));
  EXPECT_FALSE(made(x, "aten::relu_", {slot(0)}));
}

TEST_F(DenseTapeTest, asks_for_the_kernel_that_an_operator_has_now) {
  const Tensor x = ones({4});
  const Tensor* inputs[] = {&x};
  Op& op = *const_cast<Op*>(find_op("aten::neg"));
  DenseTape::Builder b(x.dtype(), x.sizes(), 1);
  ASSERT_TRUE(b.call(op, std::vector{slot(0)}));
  const int32_t outputs[] = {1};
  const auto tape = b.finish(outputs);
  ASSERT_TRUE(tape);
  Tensor result;
  EXPECT_TRUE(tape->run(inputs, &result));
  const char* before = op.set_kernel(Key::cpu, SCONCE_BOXED_KERNEL([](const Op&, KeySet, Value*, Value*) {}));
  EXPECT_FALSE(tape->run(inputs, &result));
  op.set_kernel(Key::cpu, before);
  EXPECT_TRUE(tape->run(inputs, &result));
}

TEST_F(DenseTapeTest, has_four_rooms_for_temporaries) {
  // Five values that are all needed in the end: one more than there are rooms.
  const Tensor x = ones({4});
  const Tensor* inputs[] = {&x};
  for (const int live : {4, 5}) {
    DenseTape::Builder b(x.dtype(), x.sizes(), 1);
    for (int i = 0; i < live; ++i)
      ASSERT_TRUE(b.call(*find_op("aten::add.Scalar"), std::vector{slot(0), number(i + 0.5), number(int64_t{1})}));
    int32_t sum = 1;
    for (int i = 1; i < live; ++i) {
      ASSERT_TRUE(b.call(*find_op("aten::add.Tensor"), std::vector{slot(sum), slot(i + 1), number(int64_t{1})}));
      sum = live + i;
    }
    const int32_t outputs[] = {sum};
    const auto tape = b.finish(outputs);
    ASSERT_EQ(tape != nullptr, live == 4);
    if (!tape) continue;
    Tensor result;
    ASSERT_TRUE(tape->run(inputs, &result));
    EXPECT_EQ(static_cast<const float*>(result.data())[3], 4 + 0.5f + 1.5f + 2.5f + 3.5f);
  }
}

}  // namespace
}  // namespace sconce
