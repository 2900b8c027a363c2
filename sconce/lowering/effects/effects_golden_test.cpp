// Golden tests of what lowering does about effects: NAME.test has graphs before and after.
#include <gtest/gtest.h>

#include "sconce/api/jit.h"
#include "sconce/base/error.h"
#include "sconce/dispatch/registry.h"
#include "sconce/ir/function.h"
#include "sconce/ir/graph_parser.h"
#include "sconce/ir/verifier.h"
#include "sconce/lowering/dialect.h"
#include "sconce/lowering/effects/drop_bookkeeping.h"
#include "sconce/lowering/effects/inline_forks.h"
#include "sconce/ops.h"
#include "sconce/testing/golden_file.h"
#include "sconce/testing/source_tree.h"

namespace sconce::lowering {
namespace {

std::string canonical(const ir::Graph& graph) { return graph.copy()->to_string(false); }

void check(const char* name, bool (*pass)(ir::Graph&)) {
  const std::string path = std::string("sconce/lowering/effects/") + name + ".test";
  testing::check_golden_file(testing::source_path(path), [&](const std::string& text) {
    const std::shared_ptr<ir::Graph> graph = ir::parse_graph(text);
    const std::string before = canonical(*graph);
    const bool changed = pass(*graph);
    ir::verify(*graph);
    EXPECT_EQ(changed, canonical(*graph) != before) << text;
    return canonical(*graph);
  });
}

TEST(InlineForks, GoldenGraphs) { check("inline_forks", inline_forks); }
TEST(DropDetach, GoldenGraphs) { check("drop_detach", drop_detach); }
TEST(Guarded, GoldenGraphs) {
  check("guarded", [](ir::Graph& graph) {
    const std::string before = canonical(graph);
    find_dialect("core")->lower(graph);
    return canonical(graph) != before;
  });
}

TEST(DropSelfAssignments, OnlyWhatIsTheSameTensor) {
  jit::CompilationUnit unit = jit::compile(R"(
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros([]))
        self.register_buffer("last", torch.zeros([]))

    def forward(self, x: Tensor):
        self.calls = self.calls.add_(1)
        self.last = x
        return x
)");
  const jit::Module module = unit.module("M");
  const std::shared_ptr<ir::Graph> graph = module.method("forward").function().graph()->copy();
  EXPECT_TRUE(drop_self_assignments(*graph));
  EXPECT_EQ(canonical(*graph).find("SetAttr[name=\"calls\"]"), std::string::npos);
  EXPECT_NE(canonical(*graph).find("SetAttr[name=\"last\"]"), std::string::npos);
}

TEST(CheckApart, NamesTensorsThatShareMemory) {
  const Op& op = *find_op("sconce::check_apart", "");
  const auto tensors = [](TypePtr element, const std::vector<Tensor>& items) {
    Ref<List> list = make_ref<List>(element);
    for (const Tensor& t : items) list->append(t.defined() ? Value(t) : Value());
    return Value(list);
  };
  const auto call = [&](const std::vector<Tensor>& written, const std::vector<Tensor>& others) {
    Ref<List> names = make_ref<List>(string_type());
    for (const char* name : {"x", "y", "z"}) names->append(Value(name));
    Value args[] = {tensors(tensor_type(), written), tensors(optional_type(tensor_type()), others), Value(names)};
    op.call_boxed(args, nullptr);
  };
  const Tensor whole = zeros({6}), first = slice(whole, 0, 0, 3), second = slice(whole, 0, 3, 6);
  EXPECT_NO_THROW(call({first, second}, {zeros({2})}));
  EXPECT_NO_THROW(call({first}, {second, Tensor()}));
  EXPECT_NO_THROW(call({first}, {slice(whole, 0, 0, 0), second}));
  try {
    call({first, second}, {whole});
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "'x' and 'z' share memory: the program writes to the first and was lowered for tensors that do not");
  }
}

}  // namespace
}  // namespace sconce::lowering
