// Random programs of tensors, branches, loops and lists have the same gradients with regions and recorded one by one.
#include <random>

#include "sconce/frontend/script/program.h"
#include "sconce/runtime/interpreter.h"
#include "sconce/runtime/test_gradients.h"

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

class Generator {
 public:
  explicit Generator(unsigned seed) : random_(seed) {}
  std::string program() {
    return "def f(a: Tensor, b: Tensor, n: int):\n  c = a * b\n  i = n\n  j = 2\n  l = [a, c]\n" + body(0, false) +
           "  return a * c, b + c, l[len(l) - 1] * 2\n";
  }

 private:
  size_t below(size_t n) { return random_() % n; }
  std::string filled(std::string_view text, const std::string& indent) {
    std::string out = indent;
    for (size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\n') {
        out += "\n" + indent;
      } else if (text[i] != '$') {
        out += text[i];
      } else {
        const char kind = text[++i];
        out += kind == 't' ? "abc"[below(3)] : kind == 'n' ? "ij"[below(2)] : static_cast<char>('2' + below(5));
      }
    }
    return out + "\n";
  }
  std::string body(int depth, bool in_loop) {
    const std::string indent(2 * static_cast<size_t>(depth) + 2, ' ');
    std::string out;
    for (size_t i = 0, count = 2 + below(depth == 0 ? 10 : 4); i < count; ++i) {
      const size_t choice = below(std::size(kStatements) + 6);
      if (choice < std::size(kStatements) || depth == 3) {
        out += filled(kStatements[choice % std::size(kStatements)], indent);
      } else if (choice < std::size(kStatements) + 2) {
        out += filled(below(2) ? "if $n % $d == 1:" : "if bool($t.sum() > 0):", indent) + body(depth + 1, in_loop);
        if (below(2)) out += filled("else:", indent) + body(depth + 1, in_loop);
      } else if (choice < std::size(kStatements) + 5) {
        out += filled(below(2) ? "for q in range(2):" : "for q in range($n % 4):", indent) + body(depth + 1, true);
      } else if (in_loop) {
        out += filled(below(2) ? "if $n > 4:\n  break" : "if $n > 4:\n  continue", indent);
      }
    }
    return out;
  }
  std::mt19937 random_;
};

TEST(DifferentiableRandom, ProgramsHaveTheSameGradients) {
  for (unsigned seed = 0; seed < 60 && !::testing::Test::HasFailure(); ++seed) {
    const std::string source = Generator(seed).program();
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
