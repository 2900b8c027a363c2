#include <gtest/gtest.h>

#include "sconce/dispatch/registry.h"
#include "sconce/types/value.h"

namespace sconce {
namespace {

double first(const char* op, Value data, DType dtype) {
  const Tensor t = call_op(op, {std::move(data)}, {{"dtype", Value(static_cast<int64_t>(dtype))}})[0].to_tensor();
  EXPECT_EQ(t.dtype(), dtype);
  return dtype == DType::uint8 ? *t.data<uint8_t>() : *t.data<double>();
}

// As PyTorch's programs have it: floats are rounded to the default dtype, ints wrap around.
TEST(TensorFromList, NumbersTakeTheWayOverTheirOwnDtype) {
  const auto rounded = static_cast<double>(0.1f);
  for (const char* op : {"aten::tensor", "aten::as_tensor"}) {
    EXPECT_EQ(first(op, Value(0.1), DType::float64), rounded) << op;
    EXPECT_EQ(first(op, Value(std::vector<double>{0.1}), DType::float64), rounded) << op;
    EXPECT_EQ(first(op, Value(int64_t{300}), DType::uint8), 44) << op;
    EXPECT_EQ(first(op, Value(std::vector<int64_t>{300}), DType::uint8), 44) << op;
    EXPECT_EQ(first(op, Value(int64_t{16777217}), DType::float64), 16777217.0) << op;
  }
}

}  // namespace
}  // namespace sconce
