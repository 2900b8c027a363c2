// Compiled files for a device: the program's bits from the first call on, by plans; what they refuse. On a GPU, or on
// the host's stand-in for one (tests/host_gpu).
#include <gtest/gtest.h>

#include "sconce/api/jit.h"
#include "sconce/codegen/cuda/cuda_maker.h"
#include "sconce/connect/cuda/decomposed_kernels.h"
#include "sconce/executor/function_plans.h"
#include "sconce/kernels/cuda/cuda_backend.h"
#include "sconce/kernels/cuda/device/nvrtc.h"
#include "sconce/ops.h"
#include "sconce/serialization/archive/verify.h"
#include "sconce/serialization/compiled/compile_calls.h"
#include "sconce/serialization/compiled/compiled_file.h"
#include "sconce/tensor/generator.h"
#include "sconce/tensor/grad_mode.h"
#include "sconce/testing/compiled/planned_calls.h"
#include "sconce/testing/error_of.h"
#include "sconce/testing/temporary_folder.h"

namespace sconce {
namespace {

using testing::compare_same_bits;
using testing::error_of;

constexpr Device kGpu{DeviceType::cuda, 0};
Tensor up(const Tensor& t) { return to(t, kGpu, t.dtype()); }
Tensor down(const Tensor& t) { return to(t, Device(), t.dtype()); }

constexpr const char* kPrograms = R"(
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(6, 16)
        self.norm = nn.LayerNorm(16)
        self.down = nn.Linear(16, 6)
        self.register_buffer("pair", torch.arange(12.0).reshape(2, 6))

    def forward(self, x, which: int = 0):
        y = torch.relu(self.norm(self.up(x)))
        z = self.down(y) + self.pair[which]
        mask = torch.zeros([6], device=x.device)
        return x + z * 0.5 + mask, z.t(), torch.arange(3)

class Host(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, i):
        return x[i].to(torch.device("cpu")) + 1

class Draws(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return torch.bernoulli(x * 0 + 0.5) + torch.rand([4], device=x.device)
)";

class CudaFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = cuda::start(); !why.empty()) GTEST_SKIP() << "no CUDA device: " << why;
    if (!cuda::find_nvrtc()) GTEST_SKIP() << cuda::why_no_nvrtc();
    static const size_t decomposed = add_decomposed_kernels(DeviceType::cuda);
    static_cast<void>(decomposed);
    cuda::connect_maker();
  }
  jit::Module module(const char* name) {
    manual_seed(3);
    jit::Module made = unit_.module(name);
    made.eval();
    made.to(kGpu);
    return made;
  }
  std::string compile(const jit::Module& m, std::vector<ExampleCall> calls) {
    compile_to_file(*m.unit(), m.value(), "forward", calls, folder_.file("m.scx"));
    return folder_.file("m.scx");
  }
  static void expect_same(const Value& got, const Value& expected) {
    const std::vector<Value>&a = got.to_tuple().items, &b = expected.to_tuple().items;
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) {
      EXPECT_EQ(a[i].to_tensor().device(), b[i].to_tensor().device()) << i;
      EXPECT_FALSE(compare_same_bits(down(a[i].to_tensor()), down(b[i].to_tensor()))) << i;
    }
  }

  jit::CompilationUnit unit_ = jit::compile(kPrograms);
  testing::TemporaryFolder folder_;
};

TEST_F(CudaFiles, GiveTheProgramsBitsByPlans) {
  const NoGrad without_gradients;
  const jit::Module net = module("Net");
  const Tensor x = up(randn({3, 6})), longer = up(randn({5, 6}));
  const std::string path = compile(net, {{{x}, {}}, {{longer, Value(int64_t{1})}, {}}});
  const jit::Module loaded = jit::load(path);
  for (int i = 0; i < 4; ++i) {  // enough to record a graph
    expect_same(loaded(x), net(x));
    expect_same(loaded(longer, 1), net(longer, 1));
  }
  const auto plans = executor::plans_of(loaded.get_method("forward").function());
  ASSERT_EQ(plans.size(), 2u);
  for (const executor::PlanText& plan : plans) EXPECT_EQ(plan.runs, 4u) << plan.text;
  executor::set_plans_enabled(false);
  expect_same(loaded(x), net(x));
  executor::set_plans_enabled(true);
  EXPECT_EQ(load_compiled(path).device, kGpu);
}

TEST_F(CudaFiles, SayWhatTheyAreFor) {
  const NoGrad without_gradients;
  const std::string path = compile(module("Net"), {{{up(randn({3, 6}))}, {}}});
  const CompiledInfo info = describe_compiled(FileBytes::map(path));
  EXPECT_EQ(info.device, DeviceType::cuda);
  EXPECT_EQ(info.signatures[0], "(x: float32 [3, 6] on cuda, which: 0)");
  EXPECT_EQ(verify_file(path).outcome(), Outcome::ok);
  const jit::Module loaded = jit::load(path);
  const std::string said = error_of([&] { loaded(randn({3, 6})); });
  EXPECT_NE(
      said.find("the file was compiled for arguments (x: float32 [3, 6] on cuda, which: 0), given were (x: float32 "
                "[3, 6], which: 0)"),
      std::string::npos)
      << said;
}

TEST_F(CudaFiles, MayUseTheHostBesideTheDevice) {
  const NoGrad without_gradients;
  const jit::Module host = module("Host");
  const Tensor x = up(randn({4, 3})), i = mul(arange(2), Scalar(2));
  const jit::Module loaded = jit::load(compile(host, {{{x, i}, {}}}));
  const Tensor seen = loaded(x, i).to_tensor();
  EXPECT_EQ(seen.device(), Device());
  EXPECT_FALSE(compare_same_bits(seen, host(x, i).to_tensor()));
}

TEST_F(CudaFiles, DrawTheProgramsNumbers) {
  const NoGrad without_gradients;
  const jit::Module draws = module("Draws");
  const Tensor x = up(randn({2, 4}));
  const jit::Module loaded = jit::load(compile(draws, {{{x}, {}}}));
  for (int i = 0; i < 3; ++i) {
    manual_seed(9);
    const Tensor expected = down(draws(x).to_tensor());
    manual_seed(9);
    EXPECT_FALSE(compare_same_bits(down(loaded(x).to_tensor()), expected));
  }
}

}  // namespace
}  // namespace sconce
