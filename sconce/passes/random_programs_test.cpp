// Every pass leaves what programs compute as it is: random programs full of views, writes, lists, branches and loops
// are run as they are and after each pass.
#include <cstdlib>

#include <gtest/gtest.h>

#include "sconce/frontend/script/program/program.h"
#include "sconce/ir/verifier.h"
#include "sconce/passes/passes.h"
#include "sconce/runtime/interpreter.h"
#include "sconce/testing/random_program.h"

namespace sconce::passes {
namespace {

// $t is a tensor of four integers, $n an integer, $l a list of tensors, $d a digit.
constexpr const char* kStatements[] = {
    "$t = $t + $t",
    "$t = ($t * $d) % 97",
    "$t = $t.clone()",
    "$t = $t",
    "$t = $t[:]",
    "$t = $t.view(2, 2).view(4)",
    "$t = torch.stack([$t, $t])[1]",
    "$t = torch.cat([$t, $t]).chunk(2)[0]",
    "$t = t[0]",
    "$t, $n = t",
    "$t = changed($t, $n)",
    "$t.add_($t)",
    "$t.remainder_(97)",
    "$t[1:3].mul_(2)",
    "$t.copy_($t.clone())",
    "$t[$n % 4] = $n % 50",
    "$t.fill_($d)",
    "$l.append($t)",
    "if len($l) > 0:\n  $l[0] = $t",
    "if len(l) > 0:\n  $t = l[$n % len(l)]",
    "if len(k) > 1:\n  $t = k.pop()",
    "$l = $l",
    "$l = $l[0:3]",
    "keep($l, $t)",
    "m.append($n)",
    "$n = m[$n % len(m)]",
    "$n = ($n + $n) % 31",
    "$n = ($n * $d + 1) % 17",
    "$n = int($t.sum()) % 13",
    "$n = len($l)",
    "d[\"x\"] = $n",
    "$n = d[\"x\"]",
    "t = ($t, $n)",
};

constexpr const char* kPrelude = R"(
def changed(x: torch.Tensor, y: int) -> torch.Tensor:
  if y % 2 == 0:
    x.add_(y)
    return x
  return x + y

def keep(xs: List[torch.Tensor], x: torch.Tensor):
  if len(xs) < 4:
    xs.append(x)
  else:
    xs[1].add_(1)

def f(a: torch.Tensor, b: torch.Tensor, n: int) -> List[int]:
  c = a + b
  i = n
  j = 3
  l = [a, c]
  k = [b]
  m = [1, n, 7]
  d = {"x": 1}
  t = (c, i)
)";

constexpr const char* kEnd = R"(
  out = [i, j, len(m), d["x"]]
  for x in [a, b, c] + l + k:
    for s in range(4):
      out.append(int(x[s]))
  for s in m:
    out.append(s)
  return out
)";

constexpr const char* kConditions[] = {"if $n % $d == 1:"};

std::string program(unsigned seed) {
  const std::string body = sconce::testing::random_body({kStatements, kConditions, "if $n > 9:"}, seed);
  return kPrelude + body + kEnd;
}

Value four(int64_t first) {
  const Tensor t = empty_tensor({4}, DType::int64);
  for (int64_t i = 0; i < 4; ++i) t.data<int64_t>()[i] = first + i;
  return t;
}

std::vector<int64_t> results(ir::Function& function) {
  std::vector<int64_t> all;
  for (const int64_t n : {0, 3, 8}) {
    std::vector<Value> args{four(1), four(5), n};
    const Value result = runtime::run(function, args);
    const IntList ints = result.to_list().ints();
    all.insert(all.end(), ints.begin(), ints.end());
  }
  return all;
}

TEST(Passes, KeepWhatRandomProgramsCompute) {
  setenv("SCONCE_PASS_LIMIT", "0", 1);  // the graph as it is
  for (unsigned seed = 0; seed < 60; ++seed) {
    const std::string source = program(seed);
    const script::Program program(source);
    ir::Function& f = *program.find_function("f");
    const std::vector<int64_t> expected = results(f);
    const auto check = [&](const std::string& name, const std::shared_ptr<ir::Graph>& graph) {
      ir::verify(*graph);
      ir::Function& changed = program.unit().add_function("__torch__." + name);
      changed.set_schema(f.schema());
      changed.set_graph(graph);
      EXPECT_EQ(results(changed), expected) << name << ", seed " << seed << source;
    };
    std::shared_ptr<ir::Graph> whole = f.graph()->copy();
    for (const PassInfo& pass : all_passes()) {
      const std::shared_ptr<ir::Graph> graph = f.graph()->copy();
      inline_calls(*graph);
      pass.run(*graph);
      check(pass.name, graph);
      if (pass.in_pipeline) pass.run(*whole);
    }
    check("all", whole);
  }
  unsetenv("SCONCE_PASS_LIMIT");
}

}  // namespace
}  // namespace sconce::passes
