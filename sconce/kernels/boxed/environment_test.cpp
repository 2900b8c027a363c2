// What programs ask of tensors, values and their thread.
#include <gtest/gtest.h>

#include "sconce/base/error.h"
#include "sconce/dispatch/registry.h"
#include "sconce/ops.h"
#include "sconce/tensor/grad_mode.h"
#include "sconce/types/value.h"

namespace sconce {
namespace {

Value answer(std::string_view name, std::vector<Value> args) {
  std::vector<Value> results = call_op(name, std::move(args));
  return results.empty() ? Value() : results[0];
}

TEST(Environment, Tensors) {
  const Tensor t = zeros({2, 3}, DType::float64);
  EXPECT_EQ(answer("prim::dtype", {t}).to_int(), static_cast<int64_t>(DType::float64));
  EXPECT_EQ(answer("prim::device", {t}).to_device(), Device());
  EXPECT_TRUE(answer("prim::is_cpu", {t}).to_bool());
  EXPECT_FALSE(answer("prim::is_cuda", {t}).to_bool());
  EXPECT_FALSE(answer("prim::requires_grad", {t}).to_bool());
  EXPECT_EQ(answer("prim::nbytes", {t}).to_int(), 48);
  EXPECT_EQ(answer("aten::element_size", {t}).to_int(), 8);
  EXPECT_EQ(answer("aten::get_device", {t}).to_int(), -1);
  EXPECT_TRUE(answer("prim::is_meta", {zeros({2}, {}, {}, Device(DeviceType::meta))}).to_bool());
  EXPECT_THROW(answer("aten::is_coalesced", {t}), Error);
}

TEST(Environment, NumbersBecomeTensors) {
  EXPECT_EQ(answer("prim::NumToTensor.Scalar", {1.5}).to_tensor().dtype(), DType::float64);
  EXPECT_EQ(answer("prim::NumToTensor.Scalar", {3}).to_tensor().dtype(), DType::int64);
  EXPECT_EQ(answer("prim::NumToTensor.bool", {true}).to_tensor().dtype(), DType::bool_);
}

TEST(Environment, Modes) {
  EXPECT_TRUE(answer("aten::is_grad_enabled", {}).to_bool());
  answer("aten::set_grad_enabled", {false});
  EXPECT_FALSE(grad_enabled());
  answer("aten::set_grad_enabled", {true});
  EXPECT_FALSE(answer("aten::is_autocast_enabled", {}).to_bool());
  answer("aten::manual_seed", {5});
  const Tensor a = rand({3});
  answer("aten::manual_seed", {5});
  EXPECT_TRUE(equal(a, rand({3})));
  const Generator g = make_generator(1);
  answer("aten::manual_seed.generator", {g, 9});
  EXPECT_EQ(answer("aten::initial_seed", {g}).to_int(), 9);
}

TEST(Environment, Numbers) {
  EXPECT_EQ(answer("prim::max.int", {2, 5}).to_int(), 5);
  EXPECT_EQ(answer("prim::min.float_int", {2.5, 5}).to_double(), 2.5);
  EXPECT_EQ(answer("prim::max.int_float", {7, 5.5}).to_double(), 7.0);
  EXPECT_EQ(answer("prim::abs.int", {-4}).to_int(), 4);
  EXPECT_EQ(answer("prim::max.self_int", {IntList({3, 9, 4})}).to_int(), 9);
  EXPECT_THROW(answer("prim::min.self_int", {IntList()}), Error);
  EXPECT_EQ(answer("prim::rangelist", {3}).to_list().size(), 3u);
}

TEST(Environment, Exceptions) {
  try {
    answer("prim::RaiseException", {"wrong", "builtins.ValueError"});
    FAIL() << "nothing was thrown";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::value);
    EXPECT_NE(std::string(e.what()).find("wrong"), std::string::npos);
  }
}

}  // namespace
}  // namespace sconce
