#include "sconce/executor/calls/call_match.h"

#include <gtest/gtest.h>

#include "sconce/autograd/variable.h"
#include "sconce/sconce.hpp"

namespace sconce::executor {
namespace {

bool holds(const CallMatch& match, const std::vector<Value>& args, bool records = false) {
  MatchedTensors found;
  return match.holds(args, records, found);
}

// What it must say: whether signatures are equal.
bool equal_words(const std::vector<Value>& a, const std::vector<Value>& b) {
  Words first, second;
  SmallVector<TensorImpl*, 8> tensors, others;
  return append_arguments(a, first, tensors) && append_arguments(b, second, others) && first == second;
}

TEST(CallMatch, agrees_with_signatures) {
  const Tensor x = ones({2, 3}), y = ones({2, 3}), z = ones({3, 2});
  const std::vector<std::vector<Value>> calls = {
      {Value(x), Value(y)},
      {Value(y), Value(x)},
      {Value(x), Value(x)},
      {Value(x), Value(z)},
      {Value(x), Value(t(z))},
      {Value(x), Value(to(y, DType::float64))},
      {Value(x), Value(int64_t{1})},
      {Value(x), Value(int64_t{2})},
      {Value(x), Value(1.0)},
      {Value(x), Value()},
      {Value(x)},
      {Value(x), Value(true)},
      {Value(x), Value(y), Value(x)},
      {Value(x), Value(y), Value(y)},
      {Value(x), Value(y), Value(ones({2, 3}))},
      {Value(x), Value(ones({2, 3, 4}))},
      {Value(x), Value(ones({2, 3, 5}))},
      {Value(x), Value(transpose(ones({2, 4, 3}), 1, 2))},
      {Value(x), Value(ones({2, 3, 4, 1, 5}))},
      {Value(x), Value(ones({}))},
      {Value(x), Value(ones({2}))},
  };
  for (const std::vector<Value>& made_of : calls) {
    const std::optional<CallMatch> match = CallMatch::make(made_of);
    ASSERT_TRUE(match);
    for (const std::vector<Value>& call : calls) EXPECT_EQ(holds(*match, call), equal_words(made_of, call));
  }
}

TEST(CallMatch, gives_the_tensors_in_order) {
  const Tensor x = ones({2}), y = ones({3});
  const std::vector<Value> args = {Value(int64_t{4}), Value(x), Value(), Value(y)};
  const std::optional<CallMatch> match = CallMatch::make(args);
  ASSERT_TRUE(match);
  MatchedTensors found;
  ASSERT_TRUE(match->holds(args, false, found));
  ASSERT_EQ(found.count, 2u);
  EXPECT_EQ(found.tensors[0], x.impl());
  EXPECT_EQ(found.tensors[1], y.impl());
}

TEST(CallMatch, refuses_gradients_that_would_be_recorded) {
  const Tensor w = ones({2});
  const std::vector<Value> args = {Value(w)};
  const std::optional<CallMatch> match = CallMatch::make(args);
  ASSERT_TRUE(match);
  EXPECT_TRUE(holds(*match, args, true));
  autograd::set_requires_grad(w, true);
  EXPECT_TRUE(holds(*match, args, false));
  EXPECT_FALSE(holds(*match, args, true));
}

TEST(CallMatch, tells_many_tensors_apart) {
  std::vector<Value> distinct, repeated;
  for (int i = 0; i < 20; ++i) distinct.emplace_back(ones({2, 3}));
  repeated = distinct;
  repeated[17] = repeated[4];
  const std::optional<CallMatch> match = CallMatch::make(distinct), other = CallMatch::make(repeated);
  ASSERT_TRUE(match && other);
  EXPECT_TRUE(holds(*match, distinct));
  EXPECT_FALSE(holds(*match, repeated));
  EXPECT_TRUE(holds(*other, repeated));
  EXPECT_FALSE(holds(*other, distinct));
  for (int i = 0; i < 20; ++i) distinct.emplace_back(ones({2}));
  EXPECT_FALSE(CallMatch::make(distinct));  // too many
}

TEST(CallMatch, sees_that_the_base_of_a_view_wants_gradients) {
  const Tensor base = ones({2, 2});
  const std::vector<Value> args = {Value(select(base, 0, 0))};
  const std::optional<CallMatch> match = CallMatch::make(args);
  ASSERT_TRUE(match);
  EXPECT_TRUE(holds(*match, args, true));
  autograd::set_requires_grad(base, true);
  ASSERT_TRUE(args[0].to_tensor().requires_grad());
  EXPECT_FALSE(holds(*match, args, true));
}

TEST(CallMatch, leaves_containers_and_texts_to_signatures) {
  EXPECT_FALSE(CallMatch::make(std::vector<Value>{Value("text")}));
  EXPECT_FALSE(CallMatch::make(std::vector<Value>{Value(std::vector<int64_t>{1, 2})}));
}

}  // namespace
}  // namespace sconce::executor
