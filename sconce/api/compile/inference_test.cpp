#include <unistd.h>

#include "sconce/api/compile/inference.h"

#include <gtest/gtest.h>

#include "sconce/executor/function_plans.h"
#include "sconce/ops.h"
#include "sconce/tensor/generator.h"
#include "sconce/tensor/grad_mode.h"
#include "sconce/testing/compiled/planned_calls.h"
#include "sconce/testing/error_of.h"
#include "sconce/testing/temporary_folder.h"

namespace sconce::jit {
namespace {

constexpr const char* kNet = R"(
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.a(x))

    @torch.jit.export
    def twice(self, x: Tensor) -> Tensor:
        return self.a(x) * 2

    @torch.jit.export
    def count(self, x: Tensor) -> int:
        return int(x.sum().item())
)";

struct Net {
  CompilationUnit unit = compile(kNet);
  Module module = unit.module("Net").eval();
  Tensor x = ones({2, 4});
};

uint64_t runs(const Module& module, const char* method) {
  uint64_t all = 0;
  for (const executor::PlanText& plan : executor::plans_of(module.method(method).function())) all += plan.runs;
  return all;
}

TEST(Inference, FreezeMakesConstants) {
  const InferenceMode inference;
  const Net net;
  const Module frozen = freeze(net.module, {.preserved = {"twice"}, .optimize_numerics = true});
  EXPECT_TRUE(frozen.parameters().empty());
  EXPECT_TRUE(frozen.has_method("twice"));
  EXPECT_FALSE(frozen.has_method("count"));
  EXPECT_FALSE(testing::compare_same_bits(frozen(net.x).to_tensor(), net.module(net.x).to_tensor()));
  EXPECT_FALSE(net.module.parameters().empty());
  EXPECT_ERROR(freeze(net.module, {.preserved = {"thrice"}, .optimize_numerics = true}),
               "freeze: unknown name 'thrice' to preserve");
}

TEST(Inference, OptimizeRefusesTraining) {
  const Net net;
  net.module.train();
  EXPECT_ERROR(optimize_for_inference(net.module), "Freezing is currently only implemented for modules in eval mode");
  EXPECT_TRUE(net.module.is_training());
  net.module.eval();
  const Module frozen = optimize_for_inference(net.module, {"twice"});
  EXPECT_TRUE(frozen.has_method("twice"));
  const Module again = optimize_for_inference(frozen);
  EXPECT_EQ(&again.value().to_object(), &frozen.value().to_object());
  EXPECT_ERROR(optimize_for_inference(frozen, {"count"}), "count");
}

TEST(Inference, CompilePlansAtOnce) {
  const InferenceMode inference;
  const Net net;
  const Module frozen = optimize_for_inference(net.module, {"twice", "count"});
  const Compiled done = compile(frozen, {net.x});
  EXPECT_TRUE(done.planned) << done.why;
  EXPECT_EQ(done.steps, 1u) << done.plan;
  EXPECT_EQ(done.guards, 0u);
  EXPECT_EQ(done.plan.find("packed product 2 x 4 x 3"), 0u) << done.plan;
  EXPECT_FALSE(testing::compare_same_bits(done.result.to_tensor(), net.module(net.x).to_tensor()));
  EXPECT_EQ(runs(frozen, "forward"), 0u);
  EXPECT_FALSE(testing::compare_same_bits(frozen(net.x).to_tensor(), done.result.to_tensor()));
  EXPECT_EQ(runs(frozen, "forward"), 1u);  // the first call after it
  // A second time there is nothing to do.
  EXPECT_TRUE(compile(frozen, {net.x}).planned);
  EXPECT_EQ(executor::plans_of(frozen.method("forward").function()).size(), 1u);
  EXPECT_TRUE(compile(frozen, {net.x}, {.method = "twice", .backend = {}}).planned);
}

TEST(Inference, CompileSaysWhyNot) {
  const InferenceMode inference;
  const Net net;
  const Compiled done = compile(net.module, {net.x}, {.method = "count", .backend = {}});
  EXPECT_FALSE(done.planned);
  EXPECT_EQ(done.why, "aten::_local_scalar_dense reads elements");
  EXPECT_EQ(done.result.to_int(), 8);
  executor::set_plans_enabled(false);
  EXPECT_EQ(compile(net.module, {net.x}).why, "plans are off (SCONCE_PLANS)");
  executor::set_plans_enabled(true);
  EXPECT_ERROR(compile(net.module, {net.x}, {.method = "forward", .backend = "nobody"}),
               "there is no backend 'nobody'; known are: sconce");
  EXPECT_ERROR(compile(net.module, {net.x}, {.method = "thrice", .backend = {}}), "thrice");
  EXPECT_ERROR(compile(net.module, {ones({2, 5})}), "mat1");
}

// Weights of some megabytes, in a file.
struct Large {
  testing::TemporaryFolder folder;
  std::string path = folder.path() + "/large.pt";
  Tensor x = ones({3, 512});
  Large() {
    CompilationUnit unit = compile(R"(
class Large(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(512, 512)
        self.b = nn.Linear(512, 512)

    def forward(self, x: Tensor) -> Tensor:
        return self.b(torch.relu(self.a(x)))
)");
    manual_seed(0);
    unit.module("Large").eval().save(path);
  }
  static Tensor weight(const Module& module, const char* name) {
    return module.attr(name).to_object().attr("weight").to_tensor();
  }
  static Tensor interpreted(const Module& module, const Tensor& x) {
    executor::set_plans_enabled(false);
    Tensor out = module(x).to_tensor();
    executor::set_plans_enabled(true);
    return out;
  }
};

TEST(Inference, CompileGivesOriginalsBackAndTheyComeBack) {
  const InferenceMode inference;
  const Large large;
  const Module loaded = load(large.path);
  const Tensor expected = Large::interpreted(loaded, large.x);
  const Module model = optimize_for_inference(loaded);
  const Compiled done = compile(model, {large.x});
  ASSERT_TRUE(done.planned) << done.why;
  constexpr size_t kWeights = size_t{2} * 512 * 512 * 4;
  if (access("/proc/self/pagemap", R_OK) != 0) GTEST_SKIP() << "the system does not tell which pages were written";
  ASSERT_GT(done.given_back_bytes, 0u);
  EXPECT_GT(done.given_back_bytes, kWeights - 4 * 4096);
  EXPECT_LE(done.given_back_bytes, kWeights);
  // Nothing is there to be given back now; calls of the plan do not change that.
  EXPECT_FALSE(testing::compare_same_bits(model(large.x).to_tensor(), expected));
  EXPECT_EQ(compile(model, {large.x}).given_back_bytes, 0u);
  // Read otherwise: by the interpreter, for another size, by saving.
  EXPECT_FALSE(testing::compare_same_bits(Large::interpreted(model, large.x), expected));
  const std::string copy = large.folder.path() + "/copy.pt";
  EXPECT_GT(compile(model, {large.x}).given_back_bytes, 0u);  // it was read
  save(model, copy);
  EXPECT_FALSE(testing::compare_same_bits(load(copy)(large.x).to_tensor(), expected));
}

TEST(Inference, CompileKeepsWhatWasWritten) {
  const InferenceMode inference;
  const Large large;
  const Module model = load(large.path);
  // One page, by a plain pointer and by an operator.
  Large::weight(model, "a").data<float>()[50'000] = 7;
  add_(select(Large::weight(model, "b"), 0, 300), 1);
  const Tensor expected = Large::interpreted(model, large.x);
  const Compiled done = compile(model, {large.x});
  ASSERT_TRUE(done.planned) << done.why;
  if (access("/proc/self/pagemap", R_OK) != 0) GTEST_SKIP() << "the system does not tell which pages were written";
  ASSERT_GT(done.given_back_bytes, 0u);
  EXPECT_EQ(Large::weight(model, "a").data<float>()[50'000], 7);
  EXPECT_FALSE(testing::compare_same_bits(Large::interpreted(model, large.x), expected));
  EXPECT_FALSE(testing::compare_same_bits(model(large.x).to_tensor(), expected));
  // Written afterwards: seen at the next call.
  compile(model, {large.x});
  mul_(Large::weight(model, "a"), 2);
  EXPECT_FALSE(testing::compare_same_bits(model(large.x).to_tensor(), Large::interpreted(model, large.x)));
}

}  // namespace
}  // namespace sconce::jit
