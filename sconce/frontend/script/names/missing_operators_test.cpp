#include "sconce/frontend/script/names/missing_operators.h"

#include "sconce/syntax/parser.h"
#include "sconce/testing/error_of.h"

namespace sconce::script {
namespace {

std::vector<MissingOperator> missing_in(const char* text) {
  const auto tree = syntax::parse(std::make_shared<Source>("model.py", text), syntax::Dialect::archive);
  return missing_operators(*tree);
}

TEST(MissingOperators, AllAreFound) {
  const std::vector<MissingOperator> missing = missing_in(R"(
def f(x: Tensor) -> Tensor:
  y = torch.relu(x)
  if bool(torch.no_such(y)):
    y = ops.custom.thing(y, torch.neither([torch.no_such(x)]))
  return torch.add(y, ops.prim.min([1, 2]))
)");
  ASSERT_EQ(missing.size(), 3u);
  EXPECT_EQ(missing[0].name, "aten::no_such");
  EXPECT_EQ(missing[0].first_use.line(), 4);
  EXPECT_EQ(missing[1].name, "custom::thing");
  EXPECT_EQ(missing[2].name, "aten::neither");
}

TEST(MissingOperators, OneMessageNamesThem) {
  EXPECT_NO_THROW(refuse_missing({}));
  EXPECT_EQ(testing::error_of(
                [] { refuse_missing(missing_in("def f(x: Tensor) -> Tensor:\n  return torch.a(ops.b.c(x))\n")); }),
            "Unknown builtin ops (2):\n  aten::a, model.py:2:9\n  b::c, model.py:2:17:\n  File \"model.py\", line 2\n"
            "def f(x: Tensor) -> Tensor:\n  return torch.a(ops.b.c(x))\n         ~~~~~~~ <--- HERE\n");
}

}  // namespace
}  // namespace sconce::script
