// Parameters of scripted modules get the same gradients with regions and recorded one by one: of a module written here,
// and of the recorded programs.
#include <filesystem>

#include <nlohmann/json.hpp>

#include "sconce/api/jit.h"
#include "sconce/runtime/test_gradients.h"
#include "sconce/testing/conformance/case_value.h"
#include "sconce/testing/source_tree.h"

namespace sconce::jit {
namespace {

TEST(DifferentiableModules, ParametersOfSubmodules) {
  CompilationUnit unit = compile(R"(
class Block(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(self.norm(x))))

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block(6) for i in range(3)])
        self.last = nn.Linear(6, 2)

    def forward(self, x):
        for b in self.blocks:
            x = b(x)
        return self.last(x).softmax(-1)
)");
  const Module net = unit.module("Net");
  net.to(DType::float64);
  net.requires_grad_();
  const auto call = [&](std::vector<Tensor>& leaves) {
    leaves = net.parameters();
    manual_seed(1);
    return net(randn({5, 6}, DType::float64));
  };
  runtime::expect_same_gradients(call, true);
}

// Calls the module with the inputs of a recorded call; float tensors among them and its parameters are leaves.
void check_archive(const std::string& path, size_t& compared) {
  SCOPED_TRACE(path);
  const testing::CaseFile file = testing::CaseFile::open(std::filesystem::path(path).replace_extension(".safetensors"));
  for (size_t i = 1; i < file.size(); ++i) {
    const testing::Json* error = testing::find_member(file.at(i), "error");
    if (error && error->is_string()) continue;
    const Module module = load(path);
    const Function forward = module.method("forward");
    const auto call = [&](std::vector<Tensor>& leaves) {
      manual_seed(4);
      for (const Tensor& p : module.parameters()) leaves.push_back(p);
      std::vector<Value> args;
      for (const testing::Json& input : file.at(i)["inputs"]) {
        args.push_back(testing::read_value(input, file.tensors()));
        if (args.back().is_tensor() && is_floating(args.back().to_tensor().dtype())) {
          args.back() = clone(args.back().to_tensor());
          leaves.push_back(args.back().to_tensor());
        }
      }
      for (const Tensor& t : leaves) autograd::set_requires_grad(t, true);
      return forward.call(std::move(args));
    };
    bool possible = false;
    try {
      const runtime::OneByOne off;
      possible = !runtime::gradients_of(call, false).first.empty();
    } catch (const Error&) {
      // It has no gradients: it writes to a leaf, for example.
    }
    if (!possible) continue;
    runtime::expect_same_gradients(call, false, false, 1e-5);
    ++compared;
  }
}

TEST(DifferentiableModules, RecordedPrograms) {
  size_t compared = 0;
  for (const auto& entry : std::filesystem::directory_iterator(testing::source_path("tests/conformance/programs"))) {
    if (entry.path().extension() == ".pt") check_archive(entry.path().string(), compared);
  }
  EXPECT_GE(compared, 20u);
}

}  // namespace
}  // namespace sconce::jit
