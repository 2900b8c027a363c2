// The folded convolution computes what convolution and batch norm computed.
#include <gtest/gtest.h>

#include "sconce/dispatch/registry.h"
#include "sconce/ir/graph_parser.h"
#include "sconce/ir/verifier.h"
#include "sconce/passes/passes.h"

namespace sconce::passes {
namespace {

Tensor random(std::vector<int64_t> sizes) { return call_op("aten::randn", {IntList(sizes)}).at(0).to_tensor(); }
Tensor positive(std::vector<int64_t> sizes) {
  return call_op("aten::add.Scalar", {call_op("aten::rand", {IntList(sizes)}).at(0), 0.5}).at(0).to_tensor();
}

// conv2d(x, w, b) then batch_norm with these constants; values that are None stay None.
std::shared_ptr<ir::Graph> conv_bn(const std::vector<std::pair<const char*, Value>>& constants) {
  auto graph = ir::parse_graph(R"(graph(%x : Tensor, %w : Tensor, %b : Tensor?, %gamma : Tensor?, %beta : Tensor?,
      %mean : Tensor?, %var : Tensor?):
  %one : int = prim::Constant[value=1]()
  %zero : int = prim::Constant[value=0]()
  %two : int = prim::Constant[value=2]()
  %false : bool = prim::Constant[value=0]()
  %momentum : float = prim::Constant[value=0.1]()
  %eps : float = prim::Constant[value=0.001]()
  %ones : int[] = prim::ListConstruct(%one, %one)
  %zeros : int[] = prim::ListConstruct(%zero, %zero)
  %c : Tensor = aten::conv2d(%x, %w, %b, %ones, %zeros, %ones, %two)
  %y : Tensor = aten::batch_norm(%c, %gamma, %beta, %mean, %var, %false, %momentum, %eps, %false)
  return (%y)
)");
  for (size_t i = graph->inputs().size(); i-- > 1;) {
    ir::Node* constant = graph->create_constant(constants[i - 1].second);
    graph->block()->prepend(constant);
    graph->inputs()[i]->replace_all_uses_with(constant->output());
    graph->block()->remove_input(i);
  }
  ir::verify(*graph);
  return graph;
}

void check(const Value& bias, const Value& gamma, const Value& beta) {
  const Tensor x = random({2, 4, 5, 5}), w = random({6, 2, 3, 3}), mean = random({6}), var = positive({6});
  const auto graph = conv_bn({{"w", w}, {"b", bias}, {"gamma", gamma}, {"beta", beta}, {"mean", mean}, {"var", var}});
  EXPECT_TRUE(fold_conv_bn(*graph));
  ir::verify(*graph);
  EXPECT_FALSE(fold_conv_bn(*graph));
  const ir::Node* conv = graph->outputs()[0]->node();
  ASSERT_EQ(conv->kind(), ir::Symbol("aten::conv2d"));

  const auto convolve = [&](const Value& weight, const Value& b) {
    return call_op("aten::conv2d", {x, weight, b, IntList({1, 1}), IntList({0, 0}), IntList({1, 1}), 2}).at(0);
  };
  const Value folded = convolve(*ir::constant_value(conv->input(1)), *ir::constant_value(conv->input(2)));
  const Value expected =
      call_op("aten::batch_norm", {convolve(w, bias), gamma, beta, mean, var, false, 0.1, 0.001, false}).at(0);
  EXPECT_TRUE(call_op("aten::allclose", {folded, expected, 1e-5, 1e-5}).at(0).to_bool());
}

TEST(FoldConvBn, ComputesTheSame) {
  check(random({6}), random({6}), random({6}));
  check(Value(), random({6}), random({6}));
  check(random({6}), Value(), Value());
  check(Value(), Value(), Value());
}

}  // namespace
}  // namespace sconce::passes
