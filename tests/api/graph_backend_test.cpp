// Loads examples/backend as a user's program would: chains of pointwise operators run by its loop.
#include <gtest/gtest.h>

#include "sconce/executor/function_plans.h"
#include "sconce/sconce.hpp"

namespace sconce {
namespace {

constexpr const char* kText = R"(
def f(x: Tensor, y: Tensor) -> Tensor:
    a = torch.relu(x * y + 0.5) - y
    b = torch.matmul(a, y.t())
    return torch.relu(-b) * 3 + b
def g(x: Tensor, y: Tensor) -> Tensor:
    return x.double() + y[0]
)";

TEST(GraphBackend, OfTheExampleRunsChains) {
  const NoGrad without_gradients;
  load_library(SCONCE_LIBRARY_DIR "/backend.so");
  ASSERT_EQ(executor::list_backends().back(), "tile_loop");
  auto unit = jit::compile(kText);
  const jit::Function f = unit.function("f"), g = unit.function("g");
  manual_seed(0);
  for (const int64_t rows : {1, 3, 40}) {  // 40 x 40 elements are three tiles and a part of one
    const Tensor x = randn({rows, 40}), y = randn({rows, 40});
    executor::set_backend("sconce");
    const Tensor expected = f(x, y).to_tensor();
    executor::set_backend("tile_loop");
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(equal(f(x, y).to_tensor(), expected)) << rows;
    const std::string plan = executor::plans_of(f.function()).back().text;
    // Both chains are one step each; x * y + 0.5 is not computed by loops of Sconce.
    EXPECT_EQ(plan.find("backend tile_loop\n"), 0u) << plan;
    EXPECT_NE(plan.find("backend tile_loop\n", 1), plan.npos) << plan;
    EXPECT_EQ(plan.find("loops\n"), plan.npos) << plan;
    EXPECT_EQ(executor::plans_of(f.function()).back().runs, 1u);
  }
  // Other dtypes and sizes that differ are none of its business.
  const Tensor x = ones({2, 3});
  EXPECT_TRUE(equal(g(x, x).to_tensor(), full({2, 3}, 2., DType::float64)));
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(equal(g(x, x).to_tensor(), full({2, 3}, 2., DType::float64)));
  const std::string plan = executor::plans_of(g.function()).back().text;
  EXPECT_EQ(plan.find("backend"), plan.npos) << plan;
  executor::set_backend("sconce");
}

}  // namespace
}  // namespace sconce
