// Random programs of views, writes, branches, loops, lists and many dtypes: planned calls have the bits of interpreted
// ones, and leave their arguments in the same state. SCONCE_RANDOM_PROGRAMS sets their number.
#include <cstdlib>

#include "sconce/executor/backends/test_replay_backend.h"
#include "sconce/frontend/script/program/program.h"
#include "sconce/ops.h"
#include "sconce/tensor/generator.h"
#include "sconce/testing/compiled/planned_calls.h"
#include "sconce/testing/random_program.h"

#include <gtest/gtest.h>

namespace sconce::executor {
namespace {

// $t is a tensor of size [k, k], $n an integer, $d a digit.
constexpr const char* kStatements[] = {
    "$t = $t + $t",
    "$t = $t * $t * 0.5",
    "$t = torch.relu($t) - 0.$d",
    "$t = torch.sigmoid($t) * $t",
    "$t = torch.tanh($t * 0.$d)",
    "$t = $t.matmul($t) * 0.3",
    "$t = $t + $t[$n % $t.size(0)]",
    "$t = $t - $t[:, 0:1]",
    "$t = $t * $t.sum(1, True) * 0.1",
    "$t = $t.t() + 0.$d",
    "$t = torch.cat([$t, $t], 0)[0:$t.size(0)]",
    "$t = torch.where($t > $t, $t, $t * 2)",
    "$t = ($t / ($t * $t + 1)).softmax(1)",
    "$t = $t.clone()",
    "$t = $t.reshape(-1).reshape($t.size(0), -1)",
    "$t, e = torch.stack([$t, $t]).unbind(0)",
    "$t = torch.clamp($t, -0.$d, 1.$d)",
    "$t = $t.to(torch.float64).mul(0.$d).to(torch.float32)",
    "$t = $t.to(torch.bfloat16).add($t.to(torch.bfloat16)).to(torch.float32)",
    "$t = ($t * 3).to(torch.int64).add($n).to(torch.float32)",
    "$t = $t.masked_fill($t > 0.$d, -1.0)",
    "$t = torch.maximum($t, $t) + torch.minimum($t, $t)",
    "$t = $t.clone().mul_($t)",
    "$t = $t.contiguous()",
    "$t = written($t, 0.$d)",
    "$t = first_row_written($t, 0.$d)",
    "$t = column_written($t)",
    "$t = transpose_written($t, 0.$d)",
    "$t = copied($t)",
    "$t.add_(0.$d)",
    "$t = torch.zeros_like($t).add_($t)",
    "$t = $t + torch.ones([$t.size(1)]) * $n",
    "l.append($t)",
    "$t = l[$n % len(l)]",
    "$n = ($n * $d + 1) % 7",
    "$n = $n + $t.dim() + $t.size(0)",
    "$t = $t.index_select(0, torch.arange($t.size(0)))",
    "$t = F.dropout($t, 0.5, True) * 0.5",
};

constexpr const char* kConditions[] = {"if $n % $d == 1:", "if $t.size(0) > $d:"};

constexpr const char* kHelpers = R"(
def written(t: Tensor, x: float) -> Tensor:
  return t.clone().add_(x).relu_()

def first_row_written(t: Tensor, x: float) -> Tensor:
  m = t.clone()
  if m.size(0) > 0:
    m[0] = x
  return m + t

def column_written(t: Tensor) -> Tensor:
  m = t.clone()
  v = m[:, 0:1]
  v.add_(1)
  return m * t

def transpose_written(t: Tensor, x: float) -> Tensor:
  m = t.clone()
  v = m.t()
  v.mul_(x)
  return v + m

def copied(t: Tensor) -> Tensor:
  m = t.clone()
  m.copy_(t.t())
  return m

)";

// The dtypes of arguments and of what is converted to them; the others stand in the statements.
struct Element {
  DType dtype;
  const char* name;
};
constexpr Element kFloat{DType::float32, "torch.float32"};
constexpr Element kOthers[] = {{DType::float64, "torch.float64"},    {DType::bfloat16, "torch.bfloat16"},
                               {DType::float16, "torch.float16"},    {DType::int64, "torch.int64"},
                               {DType::int32, "torch.int32"},        {DType::uint8, "torch.uint8"},
                               {DType::complex64, "torch.complex64"}};

std::string program(unsigned seed, const Element& element) {
  std::string body = sconce::testing::random_body({kStatements, kConditions, "if $n > 4:"}, seed);
  const std::string_view plain = kFloat.name;
  for (size_t at = 0; (at = body.find(plain, at)) != body.npos; at += std::string_view(element.name).size())
    body.replace(at, plain.size(), element.name);
  std::string text = kHelpers;
  text += "def f(a: Tensor, b: Tensor, n: int):\n  c = a * b\n  i = n\n  j = 2\n  l = [a.clone(), c]\n";
  text += "  k = [b.clone(), c]\n" + body;
  text += "  return a * c, b + c, l[len(l) - 1] * 2, i\n";
  return text;
}

int64_t size_of(unsigned seed) {
  constexpr int64_t kSizes[] = {3, 1, 0, 7, 8, 9, 15, 16, 17, 31, 33, 64};
  return kSizes[seed % std::size(kSizes)];
}

unsigned program_count() {
  const char* wanted = std::getenv("SCONCE_RANDOM_PROGRAMS");
  return wanted ? static_cast<unsigned>(std::atoi(wanted)) : 150;
}

// `others`: with another dtype each, in place of float32.
void compare_random_programs(unsigned count, bool others = false) {
  for (unsigned seed = 0; seed < count && !::testing::Test::HasFailure(); ++seed) {
    const Element element = others ? kOthers[seed / 3 % std::size(kOthers)] : kFloat;
    const std::string source = program(seed, element);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + source);
    std::unique_ptr<script::Program> compiled;
    try {
      compiled = std::make_unique<script::Program>(source);
    } catch (const Error&) {
      continue;  // a statement that does not fit where it was put
    }
    ir::Function& f = *compiled->find_function("f");
    const int64_t k = size_of(seed);
    const auto arguments = [&](const std::optional<Value>&) {
      manual_seed(seed);
      const auto numbers = [&](IntList sizes) {
        const Tensor x = randn(sizes, DType::float32);
        return element.dtype == DType::float32 ? x : to(is_floating(element.dtype) ? x : mul(x, 4), element.dtype);
      };
      Tensor a = numbers({k, k}), b = numbers({k, k});
      if (seed % 3 == 1) a = t(a);
      if (seed % 3 == 2 && k > 0) b = slice(numbers({k, 2 * k}), 1, 0, 2 * k, 2);
      return std::vector<Value>{Value(a), Value(b), Value(static_cast<int64_t>(seed % 5))};
    };
    const auto difference = sconce::testing::compare_planned_calls(f, {}, arguments);
    EXPECT_FALSE(difference) << *difference;
  }
}

TEST(RandomPlans, HaveTheBitsOfTheInterpreter) { compare_random_programs(program_count()); }

TEST(RandomPlans, HaveThemForOtherDtypes) { compare_random_programs(program_count(), true); }

// A backend that takes some operators, others each time, and runs them as eager does.
TEST(RandomPlans, HaveThemWithPartsOfABackend) {
  unsigned asked = 0;
  const auto backend = std::make_shared<ReplayBackend>(
      "random_replay", "functional", [&](const ir::Node&) { return (++asked * 2654435761u >> 16) % 3 != 0; });
  register_backend(backend);
  set_backend("random_replay");
  compare_random_programs(program_count());
  set_backend("sconce");
  EXPECT_GT(backend->graphs().size(), program_count());
}

}  // namespace
}  // namespace sconce::executor
