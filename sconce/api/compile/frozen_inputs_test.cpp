#include "sconce/api/compile/frozen_inputs.h"

#include <gtest/gtest.h>

#include "sconce/api/jit.h"
#include "sconce/runtime/interpreter.h"
#include "sconce/sconce.hpp"

namespace sconce::jit {
namespace {

constexpr const char* kText = R"py(
def f(x, weight, bias):
    return torch.relu(torch.nn.functional.linear(x, weight, bias))

def scaled(x, weight, bias):
    return (x + weight) * bias

def writes(x, weight):
    weight.add_(1)
    return x + weight

def branches(x, weight):
    if x.size(0) > 2:
        x = x + weight
    return x
)py";

struct Call {
  CompilationUnit unit = compile(kText);
  Tensor x = randn({3, 4}), weight = randn({5, 4}), bias = randn({5});
  std::vector<Value> inputs() const { return {Value(x), Value(weight), Value(bias)}; }

  std::unique_ptr<FrozenInputs> freeze(const char* name, size_t count) {
    const std::vector<Value> given = inputs();
    return FrozenInputs::make(*unit.function(name).function().graph(), std::span<const Value>(given).first(count), {1});
  }
};

TEST(FrozenInputs, are_constants_of_a_function_of_the_others) {
  Call c;
  const auto frozen = FrozenInputs::make(*c.unit.function("f").function().graph(), c.inputs(), {1, 2});
  ASSERT_TRUE(frozen);
  EXPECT_EQ(frozen->others(), std::vector<uint32_t>{0});
  const Tensor expected = c.unit.function("f")(c.x, c.weight, c.bias).to_tensor();
  for (int i = 0; i < 4; ++i) {  // interpreted, recorded, planned
    Value args[] = {Value(c.x)};
    EXPECT_TRUE(equal(runtime::run(frozen->function(), args).to_tensor(), expected));
  }
}

TEST(FrozenInputs, hold_until_one_is_another_or_written) {
  Call c;
  const auto frozen = c.freeze("f", 3);
  ASSERT_TRUE(frozen);
  EXPECT_EQ(frozen->others(), (std::vector<uint32_t>{0, 2}));
  EXPECT_TRUE(frozen->hold(c.inputs()));
  c.x = randn({2, 4});
  c.bias = randn({5});
  EXPECT_TRUE(frozen->hold(c.inputs()));
  const Tensor before = c.weight;
  c.weight = randn({5, 4});
  EXPECT_FALSE(frozen->hold(c.inputs()));
  c.weight = before;
  EXPECT_TRUE(frozen->hold(c.inputs()));
  add_(c.weight, 1);
  EXPECT_FALSE(frozen->hold(c.inputs()));
}

TEST(FrozenInputs, leave_tensors_without_dimensions_as_they_are) {
  Call c;
  c.bias = full({}, 0.5, DType::float64);
  const auto frozen = FrozenInputs::make(*c.unit.function("scaled").function().graph(), c.inputs(), {1, 2});
  ASSERT_TRUE(frozen);
  EXPECT_EQ(frozen->others(), (std::vector<uint32_t>{0, 2}));
  c.x = arange(4);
  c.weight = arange(4);
  const auto whole = FrozenInputs::make(*c.unit.function("scaled").function().graph(), c.inputs(), {1, 2});
  ASSERT_TRUE(whole);
  for (int i = 0; i < 4; ++i) {
    Value args[] = {Value(c.x), Value(c.bias)};
    EXPECT_EQ(runtime::run(whole->function(), args).to_tensor().dtype(), DType::float64);
  }
  c.weight = c.bias;
  EXPECT_FALSE(FrozenInputs::make(*c.unit.function("scaled").function().graph(), c.inputs(), {1, 2}));
}

TEST(FrozenInputs, are_not_made_where_something_is_written_or_branches) {
  Call c;
  EXPECT_FALSE(c.freeze("writes", 2));
  EXPECT_FALSE(c.freeze("branches", 2));
}

}  // namespace
}  // namespace sconce::jit
