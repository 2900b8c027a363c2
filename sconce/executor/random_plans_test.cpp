// Random programs of views, writes, branches, loops, lists and many dtypes: planned calls have the bits of interpreted
// ones, and leave their arguments in the same state. SCONCE_RANDOM_PROGRAMS sets their number.
#include <cstdlib>

#include "sconce/executor/backends/test_replay_backend.h"
#include "sconce/executor/test_random_programs.h"
#include "sconce/frontend/script/program/program.h"
#include "sconce/ops.h"
#include "sconce/tensor/generator.h"
#include "sconce/testing/compiled/planned_calls.h"

#include <gtest/gtest.h>

namespace sconce::executor {
namespace {

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

int64_t size_of(unsigned seed) {
  constexpr int64_t kSizes[] = {3, 1, 0, 7, 8, 9, 15, 16, 17, 31, 33, 64};
  return kSizes[seed % std::size(kSizes)];
}

unsigned program_count() {
  const char* wanted = std::getenv("SCONCE_RANDOM_PROGRAMS");
  return wanted ? static_cast<unsigned>(std::atoi(wanted)) : 150;
}

// Of the first program, for runs with other ones.
unsigned first_seed() {
  const char* wanted = std::getenv("SCONCE_RANDOM_SEED");
  return wanted ? static_cast<unsigned>(std::atoi(wanted)) : 0;
}

// `others`: with another dtype each, in place of float32.
void compare_random_programs(unsigned count, bool others = false) {
  const unsigned first = first_seed();
  for (unsigned seed = first; seed < first + count && !::testing::Test::HasFailure(); ++seed) {
    const Element element = others ? kOthers[seed / 3 % std::size(kOthers)] : kFloat;
    const std::string source = random_program(seed, element.name);
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
