// Random programs of tensors, branches, loops and lists have the same gradients with regions and recorded one by one.

#include "sconce/frontend/script/program/program.h"
#include "sconce/runtime/interpreter.h"
#include "sconce/runtime/test_gradients.h"
#include "sconce/testing/random_program.h"

namespace sconce::runtime {
namespace {

// $t is a tensor of size [3, 3], $n an integer, $d a digit.
constexpr const char* kStatements[] = {
    "$t = $t + $t",
    "$t = $t * $t * 0.5",
    "$t = torch.sin($t) - $t",
    "$t = torch.tanh($t * 0.$d)",
    "$t = $t.sigmoid()",
    "$t = $t.matmul($t) * 0.3",
    "$t = $t + $t[$n % 3]",
    "$t = $t * $t.sum(1, True)",
    "$t = $t.t() + 0.$d",
    "$t = torch.cat([$t, $t], 0)[1:4]",
    "$t = torch.where($t > $t, $t, $t * 2)",
    "$t = ($t / ($t * $t + 1)).softmax(1)",
    "$t = $t.detach() * $t",
    "$t = $t.clone()",
    "$t = $t.reshape(9).reshape(3, 3)",
    "$t, e = torch.stack([$t, $t]).unbind(0)",
    "$t = $t.exp().log1p() - $t.mean()",
    "$t = $t.clone().mul_($t)",
    "l.append($t)",
    "$t = l[$n % len(l)]",
    "$n = ($n * $d + 1) % 7",
    "$n = int($t.detach().abs().sum()) % 5",
};

constexpr const char* kConditions[] = {"if $n % $d == 1:", "if bool($t.sum() > 0):"};

std::string program(unsigned seed) {
  const std::string body = sconce::testing::random_body({kStatements, kConditions, "if $n > 4:"}, seed);
  return "def f(a: Tensor, b: Tensor, n: int):\n  c = a * b\n  i = n\n  j = 2\n  l = [a, c]\n  k = [b, c]\n" + body +
         "  return a * c, b + c, l[len(l) - 1] * 2\n";
}

TEST(DifferentiableRandom, ProgramsHaveTheSameGradients) {
  for (unsigned seed = 0; seed < 60 && !::testing::Test::HasFailure(); ++seed) {
    const std::string source = program(seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + source);
    const script::Program program(source);
    ir::Function& f = *program.find_function("f");
    for (const int64_t n : {0, 3}) {
      const auto call = [&](std::vector<Tensor>& leaves) {
        manual_seed(seed);
        std::vector<Value> args;
        for (int i = 0; i < 2; ++i) {
          leaves.push_back(randn({3, 3}, DType::float64));
          autograd::set_requires_grad(leaves.back(), true);
          args.emplace_back(leaves.back());
        }
        args.emplace_back(n);
        return run(f, args);
      };
      expect_same_gradients(call, false, true, 1e-6);
    }
  }
}

}  // namespace
}  // namespace sconce::runtime
