#include "sconce/dispatch/budget/budget_scope.h"

#include <gtest/gtest.h>

#include <thread>

#include "sconce/dispatch/budget/op_terms.h"
#include "sconce/dispatch/registry.h"
#include "sconce/ops.h"
#include "sconce/testing/error_of.h"

namespace sconce {
namespace {

std::shared_ptr<Budget> budget_of(const Limits& limits) { return std::make_shared<Budget>(limits); }

TEST(Budget, OperatorsPayForTheirElements) {
  const Tensor x = ones(IntList{100, 100});
  const auto budget = budget_of({.work = 100'000});
  const BudgetScope scope(budget);
  for (int i = 0; i < 3; ++i) add(x, x);  // 20,064 read and 10,000 made each
  EXPECT_FALSE(budget->has_ended());
  EXPECT_ERROR(add(x, x), "the call: the work limit of 100000 elements does not allow 20064 more: 9808 are left");
  EXPECT_TRUE(budget->has_ended());
  EXPECT_EQ(neg(ones(IntList{4})).numel(), 4);  // what fits still runs
}

TEST(Budget, TypedAndBoxedCallsPay) {
  const Tensor x = expand(ones(IntList{1}), IntList{1'000'000'000'000});
  const BudgetScope scope(budget_of({.work = 1'000'000}));
  EXPECT_ERROR(sum(x), "work limit");
  EXPECT_ERROR(call_op("aten::sum", {x}), "work limit");
  EXPECT_EQ(x.size(0), 1'000'000'000'000);        // asks for a fact
  EXPECT_EQ(sum(narrow(x, 0, 0, 4)).numel(), 1);  // a view reads nothing
  EXPECT_ERROR(mm(ones(IntList{200, 200}), ones(IntList{200, 200})), "does not allow 8000064 more");
}

TEST(Budget, MemoryOfTensorsIsGivenBack) {
  const auto budget = budget_of({.memory = 1 << 20});
  const BudgetScope scope(budget);
  for (int i = 0; i < 100; ++i) zeros(IntList{100'000});
  EXPECT_FALSE(budget->has_ended());
  const Tensor kept = zeros(IntList{100'000}), more = zeros(IntList{100'000});
  EXPECT_ERROR(zeros(IntList{100'000}), "the memory limit of 1048576 bytes does not allow a tensor of 400000 more");
}

TEST(Budget, InsideOfAnotherBothPay) {
  const auto outer = budget_of({.work = 30'000});
  const BudgetScope scope(outer);
  const Tensor x = ones(IntList{1000});
  {
    const BudgetScope inner(budget_of({.work = 5000}));
    EXPECT_ERROR(add(ones(IntList{3000}), ones(IntList{3000})), "limit of 5000");
  }
  EXPECT_ERROR(
      {
        for (int i = 0; i < 100; ++i) {
          const BudgetScope inner(budget_of({.work = 5000}));
          add(x, x);
        }
      },
      "limit of 30000");
  const BudgetScope none(nullptr);
  add(ones(IntList{100'000}), 1);
}

TEST(Budget, TimeAndCancelEndALongOperator) {
  const Tensor x = expand(ones(IntList{1}), IntList{20'000'000'000});
  const auto start = std::chrono::steady_clock::now();
  {
    const BudgetScope scope(budget_of({.timeout = std::chrono::milliseconds(50)}));
    EXPECT_ERROR(sum(x), "the call: the time limit of 50 ms is over");
  }
  const auto budget = budget_of({});
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    budget->cancel();
  });
  {
    const BudgetScope scope(budget);
    EXPECT_ERROR(sum(x), "the call: was cancelled");
  }
  later.join();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

TEST(Budget, AmountsAndTimes) {
  EXPECT_EQ(parse_amount("2G", true), 2ull << 30);
  EXPECT_EQ(parse_amount("512MiB", true), 512ull << 20);
  EXPECT_EQ(parse_amount("1.5k", false), 1500u);
  EXPECT_EQ(parse_amount("1e9", false), 1'000'000'000u);
  for (const char* wrong : {"", "x", "-1", "2X", "2GG", "nan", "1e30"})
    EXPECT_ERROR(parse_amount(wrong, true), "is no amount");
  EXPECT_EQ(parse_duration("200ms"), std::chrono::milliseconds(200));
  EXPECT_EQ(parse_duration("2"), std::chrono::seconds(2));
  EXPECT_EQ(parse_duration("1.5h"), std::chrono::minutes(90));
  for (const char* wrong : {"", "s", "5 s", "-1s", "1d"}) EXPECT_ERROR(parse_duration(wrong), "is no time");
}

TEST(OpTerms, ComeFromTheTable) {
  EXPECT_TRUE(terms_of(*find_op("aten::clone")).loads);
  EXPECT_TRUE(terms_of(*find_op("aten::slice.Tensor")).loads);
  EXPECT_TRUE(terms_of(*find_op("aten::add.int")).loads);
  EXPECT_TRUE(terms_of(*find_op("quantized::linear_prepack")).loads);
  EXPECT_FALSE(terms_of(*find_op("aten::add.Tensor")).loads);
  EXPECT_FALSE(terms_of(*find_op("aten::backward")).loads);
  EXPECT_TRUE(is_hidden(*find_op("sconce::cdist_direct")));
  EXPECT_FALSE(is_hidden(*find_op("sconce::inference_mode_state")));
  EXPECT_FALSE(is_hidden(*find_op("aten::add.Tensor")));
  size_t hidden = 0;
  for (const Op* op : all_ops()) hidden += is_hidden(*op);
  EXPECT_GT(hidden, 80u);
}

}  // namespace
}  // namespace sconce
