#include "sconce/dispatch/budget/budget_scope.h"

#include <gtest/gtest.h>

#include <thread>

#include "sconce/base/parallel.h"
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

// 2 MB of results, computed in 8 MB of doubles.
TEST(Budget, MemoryThatOperatorsComputeInCounts) {
  const auto window = [] { hann_window(1 << 20, DType::float16); };
  window();
  const BudgetScope scope(budget_of({.memory = 6 << 20}));
  EXPECT_ERROR(window(), "the memory limit of 6291456 bytes does not allow a tensor of 8388608 more");
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

// Whatever a grain costs, a call ends after the part of one in which its time was over.
TEST(Budget, EndsAParallelLoopWithinAGrain) {
  const auto budget = budget_of({});
  const BudgetScope scope(budget);
  int64_t done = 0;
  EXPECT_ERROR(parallel_for(64, 32,
                            [&](int64_t begin, int64_t end) {
                              done += end - begin;
                              budget->cancel();
                            }),
               "was cancelled");
  EXPECT_EQ(done, 2);
}

// Operators that are one loop, none of parallel_for's, look at the time themselves. Each of these takes longer.
TEST(Budget, EndsOperatorsThatAreOneLoop) {
  const Tensor prime = zeros(IntList{2'097'143}), weights = ones(IntList{1'000'000});
  const auto limits = Limits{.timeout = std::chrono::milliseconds(5)};
  const char* over = "the call: the time limit of 5 ms is over";
  const auto within = [&](auto&& call) {
    const BudgetScope scope(budget_of(limits));
    call();
  };
  EXPECT_ERROR(within([] { randperm(4'000'000); }), over);
  EXPECT_ERROR(within([&] { fft_fft(prime); }), over);
  for (const bool replacement : {false, true})
    EXPECT_ERROR(within([&] { multinomial(weights, 900'000, replacement); }), over);
  const auto repeated = [](const Tensor& t) { return expand(t, IntList{int64_t{1} << 40}); };
  const Tensor index = repeated(zeros(IntList{1}, DType::int64)), one = repeated(ones(IntList{1}));
  EXPECT_ERROR(within([&] { scatter_add(zeros(IntList{4}), 0, index, one); }), over);
  EXPECT_ERROR(within([&] { index_add(zeros(IntList{4, 1}), 0, index, unsqueeze(one, 1)); }), over);
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
