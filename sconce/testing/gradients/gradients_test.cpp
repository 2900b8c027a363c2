#include "sconce/testing/gradients/gradients.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "sconce/dispatch/registry.h"
#include "sconce/testing/conformance/case_builder.h"
#include "sconce/testing/conformance/gradgrad_cases.h"
#include "sconce/testing/conformance/operator_cases.h"
#include "sconce/testing/phases.h"

namespace sconce::testing {
namespace {

// t0 * t1 with the cotangent t2; t3 and t4 are the gradients, t5 is wrong, t6 is zero.
CaseFile products(const std::string& cases) {
  const CaseBuilder builder = CaseBuilder()
                                  .tensor("t0", {2}, {1, 2})
                                  .tensor("t1", {2}, {3, 5})
                                  .tensor("t2", {2}, {1, 10})
                                  .tensor("t3", {2}, {3, 50})
                                  .tensor("t4", {2}, {1, 20})
                                  .tensor("t5", {2}, {3, 51})
                                  .tensor("t6", {2}, {0, 0})
                                  .tensor("t7", {2}, {3, 10});
  return CaseFile::parse(builder.bytes(cases), "products");
}

std::string product_case(const std::string& inputs, const std::string& grads) {
  return R"([{"op": "aten::mul.Tensor", "args": [{"t": "t0"}], "kwargs": {"other": {"t": "t1"}}, "out": {"t": "t7"},
              "grad": {"outputs": [0], "cotangents": [{"t": "t2"}], "inputs": )" +
         inputs + R"(, "grads": )" + grads + "}}]";
}

std::string run(const std::string& cases) { return operator_cases().run(products(cases), 0, {}).reason; }

TEST(Gradients, are_compared_in_the_order_of_the_recorded_arguments) {
  EXPECT_EQ(run(product_case("[0, 1]", R"([{"t": "t3"}, {"t": "t4"}])")), "");
  EXPECT_EQ(run(product_case("[1]", R"([{"t": "t4"}])")), "");
  EXPECT_EQ(run(product_case("[0]", R"([{"t": "t5"}])")),
            "gradient 0: at [1] got 50, expected 51; 1 of 2 elements differ, by 1 at most, at [1]");
  EXPECT_EQ(run(product_case("[2]", "[null]")), "there is no tensor 2 among 2 of the arguments");
}

TEST(Gradients, may_be_zeros_where_there_are_none) {
  const Tensor none;
  const std::vector<Tensor> two =
      read_tensors(nlohmann::json::parse(R"([{"t": "t6"}, {"t": "t3"}, null])"), products("[{}]").tensors());
  EXPECT_EQ(compare_gradients(Rule::close, {none, two[0]}, {none, none}, "gradient"), Difference());
  EXPECT_EQ(compare_gradients(Rule::close, {none}, {two[0]}, "gradient"), "gradient 0: there is none, expected one");
  EXPECT_EQ(compare_gradients(Rule::close, {none}, {two[1]}, "gradient"), "gradient 0: there is none, expected one");
  EXPECT_EQ(compare_gradients(Rule::close, {two[1]}, {two[2]}, "gradient"), "gradient 0: there is one, expected none");
}

TEST(Gradients, second_ones_follow_the_first) {
  const auto run_second = [&](const std::string& grads2) {
    const CaseFile file = products(R"([{"op": "aten::mul.Tensor", "args": [{"t": "t0"}, {"t": "t1"}], "kwargs": {},
      "cotangents": [{"t": "t2"}], "inputs": [0, 1], "grads": [{"t": "t3"}, {"t": "t4"}], "differentiable_grads": [0],
      "cotangents2": [{"t": "t2"}], "grads2": )" +
                                   grads2 + "}]");
    return gradgrad_cases().run(file, 0, {}).reason;
  };
  EXPECT_EQ(run_second(R"([null, {"t": "t5"}])"),
            "second gradient 1: at [0] got 1, expected 3; 2 of 2 elements differ, by 49 at most, at [1]");
  EXPECT_EQ(run_second(R"([{"t": "t3"}, null])"), "second gradient 0: there is none, expected one");
}

TEST(Phases, turn_cotangents_as_our_vectors_are) {
  const auto matrix = [](std::vector<float> v) {
    const Tensor t = empty_tensor({2, 2}, DType::float32);
    std::copy(v.begin(), v.end(), t.data<float>());
    return t;
  };
  const Tensor recorded = matrix({1, 0, 0, 1}), ours = matrix({1, 0, 0, -1}), cotangent = matrix({1, 2, 3, 4});
  EXPECT_EQ(align_cotangent(Rule::eigh, 1, cotangent, ours, recorded).to_string(),
            "tensor([[ 1., -2.],\n        [ 3., -4.]])");
  EXPECT_EQ(align_cotangent(Rule::svd, 2, cotangent, ours, recorded).to_string(),
            "tensor([[ 1.,  2.],\n        [-3., -4.]])");
  EXPECT_TRUE(align_cotangent(Rule::eigh, 0, cotangent, ours, recorded).is_same(cotangent));
  int choices = 0;
  for_each_sign(Rule::eigh, {cotangent, cotangent}, [&](const std::vector<Tensor>&) { return ++choices == 0; });
  EXPECT_EQ(choices, 4);
  choices = 0;
  for_each_sign(Rule::close, {cotangent}, [&](const std::vector<Tensor>&) { return ++choices == 0; });
  EXPECT_EQ(choices, 1);
}

}  // namespace
}  // namespace sconce::testing
