// sconce-steady-loads ROUNDS FILE...: loads each file and compiles a text with classes, calls them and drops them, again
// and again, and fails where the process grows with the rounds: types die with their last program and value.
#include <malloc.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "sconce/api/jit.h"
#include "sconce/ops.h"

using namespace sconce;

namespace {

constexpr const char* kText = R"(
class Pair:
    def __init__(self, a: int, b: int):
        self.a = a
        self.b = b

    def __lt__(self, other: Pair) -> bool:
        return self.a < other.a

class Point(NamedTuple):
    x: int
    pair: Pair

class Color(Enum):
    RED = 1
    GREEN = 2

@torch.jit.interface
class Step(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        pass

class Twice(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(2))

    def forward(self, x: Tensor) -> Tensor:
        return x * 2 * self.weight

class Net(nn.Module):
    step: Step
    color: Color

    def __init__(self):
        super().__init__()
        self.step = Twice()
        self.linear = nn.Linear(2, 2)
        self.color = Color.RED

    def forward(self, x: Tensor) -> Tensor:
        pairs: List[Pair] = [Pair(3, 1), Pair(2, 5)]
        best: Optional[Pair] = None
        table: Dict[str, List[Pair]] = {"all": sorted(pairs)}
        for p in table["all"]:
            if best is None:
                best = p
        if best is not None and self.color == Color.RED:
            x = x + best.b
        point = Point(1, pairs[0])
        return self.linear(self.step.forward(x)) * point.pair.a

def pairs(n: int) -> List[Pair]:
    return [Pair(i, n) for i in range(n)]

def color(name: str) -> Color:
    return Color.RED if name == "RED" else Color.GREEN
)";

size_t resident_bytes() {
  malloc_trim(0);
  size_t total = 0, resident = 0;
  if (std::FILE* f = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(f, "%zu %zu", &total, &resident) != 2) resident = 0;
    std::fclose(f);
  }
  return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

// Values outlive the programs whose classes they are of.
std::vector<Value> use_text() {
  jit::CompilationUnit unit = jit::compile(kText);
  std::vector<Value> kept{unit.function("pairs")(3), unit.function("color")("RED"), unit.function("pairs")(0)};
  const jit::Module net = unit.module("Net");
  net(ones({1, 2}));
  kept.push_back(net.value());
  return kept;
}

void check(const std::vector<Value>& kept) {
  const Value first = kept[0].to_list().get(0);
  const bool right = first.to_object().type()->name() == "__torch__.Pair" &&
                     first.to_object().attr("b").to_int() == 3 &&
                     kept[2].type()->annotation() == "List[__torch__.Pair]" && kept[1].repr() != "" &&
                     kept[3].type()->name() == "__torch__.Net";
  if (right) return;
  std::printf("values lost their types\n");
  std::exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  const long rounds = argc > 1 ? std::atol(argv[1]) : 100;
  size_t first = 0;
  for (long i = 0; i < rounds; ++i) {
    for (int k = 2; k < argc; ++k) {
      const jit::Module module = jit::load(argv[k]);
      if (i < 3) (void)module.method_names();
    }
    check(use_text());
    if (i == rounds / 10) first = resident_bytes();
  }
  const size_t last = resident_bytes();
  std::printf("%ld rounds, %d files each: resident %.2f MiB after a tenth, %.2f MiB at the end\n", rounds, argc - 2,
              static_cast<double>(first) / 1048576, static_cast<double>(last) / 1048576);
  return last > first + 512 * 1024;
}
