// Backward names the line of the script whose operation it came from.
#include "sconce/autograd/anomaly.h"

#include <gtest/gtest.h>

#include "sconce/autograd/backward.h"
#include "sconce/autograd/test_tensors.h"
#include "sconce/runtime/test_program.h"
#include "sconce/testing/error_of.h"

namespace sconce::runtime {
namespace {

using sconce::testing::error_of;

Tensor root_of(const Tensor& x) {
  Program program;
  ir::Function& f = program.add("f", R"(graph(%x : Tensor):
  %r : Tensor = aten::sqrt(%x)
  %zero : int = prim::Constant[value=0]()
  %s : Tensor = aten::mul(%r, %zero)
  return (%s)
)");
  const auto source = std::make_shared<Source>("model.py", "def f(x):\n  return x.sqrt() * 0\n");
  for (ir::Node* n : f.graph()->nodes()) {
    const std::string_view piece = n->kind().name() == "sqrt" ? "x.sqrt()" : "x.sqrt() * 0";
    const auto at = static_cast<uint32_t>(source->text().find(piece));
    n->set_range({source, at, at + static_cast<uint32_t>(piece.size())});
  }
  return program.call("f", {x}).to_tensor();
}

TEST(Anomaly, names_the_line_of_the_script) {
  const autograd::AnomalyMode on;
  const Tensor x = autograd::leaf({0});
  EXPECT_EQ(error_of([&] { autograd::backward({root_of(x)}); }),
            R"(Function 'SqrtBackward0' returned nan values in its 0th output.

Error detected in SqrtBackward0. Traceback of forward call that caused the error:
  File "model.py", line 2, in f
def f(x):
  return x.sqrt() * 0
         ~~~~~~~~ <--- HERE)");
}

}  // namespace
}  // namespace sconce::runtime
