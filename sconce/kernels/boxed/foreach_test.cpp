// One call for every tensor of a list.
#include <gtest/gtest.h>

#include "sconce/base/error.h"
#include "sconce/dispatch/registry.h"
#include "sconce/ops.h"

namespace sconce {
namespace {

std::vector<Tensor> two(double a, double b) { return {full({2}, a), full({3}, b)}; }

double first(const Tensor& t) { return to(select(t, 0, 0), DType::float64).data<double>()[0]; }

std::string error_of(const char* op, std::vector<Value> args) {
  try {
    call_op(op, std::move(args));
  } catch (const Error& e) {
    return std::string(e.message());
  }
  return "";
}

TEST(Foreach, MakesNewTensors) {
  const std::vector<Value> sum = call_op("aten::_foreach_add.List", {two(1, 2), two(10, 20)}, {{"alpha", 3}});
  ASSERT_EQ(sum[0].to_list().size(), 2u);
  EXPECT_EQ(first(sum[0].to_list().get(0).to_tensor()), 31);
  EXPECT_EQ(first(sum[0].to_list().get(1).to_tensor()), 62);
  const std::vector<Tensor> x = two(-1, 2);
  const std::vector<Value> most = call_op("aten::_foreach_maximum.Scalar", {x, 0});
  EXPECT_EQ(first(most[0].to_list().get(0).to_tensor()), 0);
  EXPECT_EQ(first(x[0]), -1);
}

TEST(Foreach, WritesInPlace) {
  const std::vector<Tensor> x = two(1, 2);
  call_op("aten::_foreach_mul_.Scalar", {x, 5});
  call_op("aten::_foreach_addcmul_.Tensor",
          {x, two(2, 2), two(3, 3), stack(std::vector<Tensor>{full({}, 1.0), full({}, 10.0)})});
  EXPECT_EQ(first(x[0]), 11);
  EXPECT_EQ(first(x[1]), 70);
  call_op("aten::_foreach_zero_", {x});
  EXPECT_EQ(first(x[1]), 0);
}

TEST(Foreach, ChecksLengths) {
  EXPECT_NE(error_of("aten::_foreach_add.List", {two(1, 2), std::vector<Tensor>{zeros({2})}}).find("got 2 and 1"),
            std::string::npos);
  EXPECT_NE(error_of("aten::_foreach_exp", {std::vector<Tensor>{}}).find("at least one tensor"), std::string::npos);
}

}  // namespace
}  // namespace sconce
