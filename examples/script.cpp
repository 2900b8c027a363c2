// A program that compiles a script, builds a module from it and calls both.
#include <cstdio>

#include "sconce/api/jit.h"
#include "sconce/ops.h"
#include "sconce/tensor/generator.h"

using namespace sconce;

constexpr const char* kText = R"py(
from typing import List, Tuple

def mean(xs: List[float], default: float = 0.0) -> float:
    if len(xs) == 0:
        return default
    return sum(xs) / len(xs)

class MLP(nn.Module):
    def __init__(self, width: int, depth: int):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(width, width) for _ in range(depth)])
        self.register_buffer("calls", torch.zeros(1))

    def forward(self, x):
        self.calls += 1
        for layer in self.layers:
            x = F.relu(layer(x))
        return x

    @torch.jit.export
    def check(self, n: int) -> int:
        if n < 0:
            raise ValueError("negative: " + str(n))
        return n
)py";

int main() {
  manual_seed(0);
  auto unit = jit::compile(kText);

  auto mean = unit.function("mean");
  std::printf("mean([1.0, 2.0]) is %g\n", mean(std::vector<double>{1.0, 2.0}).to_double());
  std::printf("mean([], default=5) is %g\n",
              mean.call({jit::to_value(std::vector<double>{})}, {{"default", 5}}).to_double());

  auto mlp = unit.module("MLP", 4, 2);
  for (const auto& [name, p] : mlp.named_parameters())
    std::printf("%s has %d elements\n", name.c_str(), int(p.numel()));
  mlp.eval();
  const Tensor y = mlp(ones({1, 4})).to_tensor();
  std::printf("mlp(x) has %d columns, and was called %g time\n", int(y.size(1)),
              mlp.attr<Tensor>("calls").item().to_double());

  auto copy = mlp.clone();
  copy.to(DType::float64);
  std::printf("the copy computes in %s\n", std::string(dtype_name(copy.parameters()[0].dtype())).c_str());

  try {
    mlp.call_method("check", -1);
  } catch (const Error& error) {
    std::printf("%s\n", error.what());
  }
}
