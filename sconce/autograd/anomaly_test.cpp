#include "sconce/autograd/anomaly.h"

#include <gtest/gtest.h>

#include "sconce/autograd/backward.h"
#include "sconce/autograd/hooks.h"
#include "sconce/autograd/test_tensors.h"
#include "sconce/ops.h"
#include "sconce/testing/error_of.h"

namespace sconce::autograd {
namespace {

using sconce::testing::error_of;

TEST(AnomalyMode, finds_what_is_not_a_number) {
  const Tensor x = leaf({0});
  const auto run = [&] { backward({sum(sqrt(x) * 0)}); };
  run();
  EXPECT_EQ(grad_text(x), "tensor([nan])");
  const AnomalyMode on;
  EXPECT_TRUE(error_of(run).starts_with("Function 'SqrtBackward0' returned nan values in its 0th output."));
  const AnomalyMode only_places(true, false);
  run();
}

TEST(AnomalyMode, ends_with_its_scope) {
  {
    const AnomalyMode on;
    EXPECT_TRUE(AnomalyMode::enabled());
    const AnomalyMode off(false);
    EXPECT_FALSE(AnomalyMode::enabled());
  }
  EXPECT_FALSE(AnomalyMode::enabled());
}

TEST(AnomalyMode, says_so_where_the_forward_call_is_not_known) {
  const Tensor x = leaf({0});
  const Tensor y = sum(sqrt(x) * 0);
  const AnomalyMode on;
  EXPECT_TRUE(
      error_of([&] { backward({y}); })
          .ends_with("Error detected in SqrtBackward0. No forward pass information available. Enable detect anomaly "
                     "during forward pass for more information."));
}

TEST(AnomalyMode, names_the_nodes_that_led_to_a_node) {
  const AnomalyMode on;
  const Tensor x = leaf({1});
  GradOptions options;
  options.create_graph = true;
  const Tensor g = grad({sum(exp(x))}, {x}, {}, options)[0];
  register_hook(g, [](const Tensor&) -> Tensor { fail("no"); });
  const std::string message = error_of([&] { backward({g}); });
  EXPECT_NE(message.find("Previous calculation was induced by ExpBackward0."), std::string::npos) << message;
}

}  // namespace
}  // namespace sconce::autograd
