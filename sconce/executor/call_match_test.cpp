#include "sconce/executor/call_match.h"

#include <gtest/gtest.h>

#include "sconce/autograd/variable.h"
#include "sconce/sconce.hpp"

namespace sconce::executor {
namespace {

bool holds(const CallMatch& match, const std::vector<Value>& args, bool records = false) {
  SmallVector<TensorImpl*, 8> tensors;
  return match.holds(args, records, tensors);
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
  SmallVector<TensorImpl*, 8> tensors;
  ASSERT_TRUE(match->holds(args, false, tensors));
  ASSERT_EQ(tensors.size(), 2u);
  EXPECT_EQ(tensors[0], x.impl());
  EXPECT_EQ(tensors[1], y.impl());
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

TEST(CallMatch, leaves_containers_and_texts_to_signatures) {
  EXPECT_FALSE(CallMatch::make(std::vector<Value>{Value("text")}));
  EXPECT_FALSE(CallMatch::make(std::vector<Value>{Value(std::vector<int64_t>{1, 2})}));
}

}  // namespace
}  // namespace sconce::executor
