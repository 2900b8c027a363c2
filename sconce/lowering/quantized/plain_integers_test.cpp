// Quantised programs in Core ATen: no quantised tensor is left, and integers are those of eager calls.
#include "sconce/lowering/quantized/plain_integers.h"

#include <gtest/gtest.h>

#include "sconce/api/jit.h"
#include "sconce/ir/function.h"
#include "sconce/ir/graph_parser.h"
#include "sconce/ir/verifier.h"
#include "sconce/lowering/dialect.h"
#include "sconce/ops.h"
#include "sconce/runtime/interpreter.h"
#include "sconce/tensor/generator.h"
#include "sconce/testing/compare/compare.h"
#include "sconce/testing/golden_file.h"
#include "sconce/testing/source_tree.h"

namespace sconce::lowering {
namespace {

std::string canonical(const ir::Graph& graph) { return graph.copy()->to_string(false); }

TEST(PlainIntegers, GoldenGraphs) {
  testing::check_golden_file(
      testing::source_path("sconce/lowering/quantized/plain_integers.test"), [](const std::string& text) {
        const std::shared_ptr<ir::Graph> graph = ir::parse_graph(text);
        ir::verify(*graph);
        const std::string before = canonical(*graph);
        const bool changed = plain_integers(*graph);
        ir::verify(*graph);
        const std::string made = canonical(*graph);
        EXPECT_EQ(changed, before != made) << text;
        EXPECT_FALSE(plain_integers(*graph)) << "a second run changed it again\n" << canonical(*graph);
        return made;
      });
}

struct Case {
  const char* name;
  const char*
      body;  // over q (quint8), s (qint8), p (qint8, by channel), x (float); each result a tensor without format
};
// Integers must be equal: rounding of floats before them may not differ.
constexpr Case kPrograms[] = {
    {"views", "return q.view(2, 4, -1).int_repr(), q.transpose(1, 3)[:, 1:, 0].int_repr(), q.squeeze().dequantize()"},
    {"channels",
     "return p[1].dequantize(), p[:, :, 1:].int_repr(), p.unsqueeze(0).dequantize(), p.q_per_channel_scales()"},
    {"asked", "return torch.full([1], q.q_scale()), torch.full([1], float(q.q_zero_point())), torch.zeros(q.shape)"},
    {"order", "return q.max().int_repr(), torch.sort(s, 3)[0].int_repr(), torch.topk(q, 2)[1], q.min(1)[0].int_repr()"},
    {"moved",
     "return q.flip(0).int_repr(), torch.index_select(s, 1, torch.tensor([0, 2])).int_repr(), q[q.dequantize() > "
     "0].int_repr()"},
    {"joined",
     "return torch.cat([q, t], 1).int_repr(), torch.stack([t, q]).int_repr(), ops.cat([q, t], 2, 0.06, 70).int_repr()"},
    {"filled", "return F.pad(q, [1, 2], value=0.3).int_repr(), q.masked_fill(x > 0, 0.7).int_repr()"},
    {"pooled",
     "return F.max_pool2d(q, 2).int_repr(), F.avg_pool2d(s, 3, 2, 1).int_repr(), F.adaptive_avg_pool2d(q, [2, "
     "3]).int_repr(), q.mean([2, 3]).int_repr()"},
    {"sums",
     "return ops.add(q, t, 0.07, 60).int_repr(), ops.add_relu(q, t[:1], 0.07, 60).int_repr(), ops.mul(q, t, 0.05, "
     "30).int_repr(), ops.mul_relu(s, s, 0.05, -30).int_repr()"},
    {"numbers",
     "return ops.add_scalar(q, 2.5).int_repr(), ops.add_scalar_relu(s, -40.0).int_repr(), ops.mul_scalar(q, "
     "-1.5).dequantize(), ops.mul_scalar(s, 0.0).dequantize(), ops.mul_scalar_relu(q, 2.0).dequantize()"},
    {"bounded",
     "return torch.clamp(q, -0.4, 1.2).int_repr(), F.relu(s).int_repr(), F.hardtanh(q).int_repr(), ops.clamp(s, 0.1, "
     "None).int_repr(), ops.threshold(q, 0.2, 0.1).int_repr()"},
    {"wide",
     "return torch.quantize_per_tensor(x, 1e-6, 3, torch.qint32).int_repr(), torch.quantize_per_tensor(x, 1e-6, 3, "
     "torch.qint32).dequantize()"},
    {"compared", "return q == t, q > 0.3, s <= s.flip(0)"},
    {"dynamic",
     "return torch.quantize_per_tensor_dynamic(x, torch.qint8, False).int_repr(), "
     "torch.quantize_per_tensor_dynamic(x.abs() * 1e-7, torch.quint8, True).int_repr()"},
    {"branch",
     "r = q\n    if int(x.numel()) > 3:\n        r = ops.add(q, t, 0.1, 10)\n    return r.int_repr(), torch.full([1], "
     "r.q_scale())"},
    {"linear",
     "w = torch.quantize_per_channel(x[0, 0], torch.rand([6]) + 0.01, torch.zeros([6], dtype=torch.int64), 0, "
     "torch.qint8)\n"
     "    a = ops.linear_prepack(w, x[0, 1, 0])\n    b = ops.linear_prepack(torch.quantize_per_tensor(x[0, 0], 0.02, "
     "4, torch.qint8), None)\n"
     "    return ops.linear(q, a, 0.3, 40).int_repr(), ops.linear_relu(q, b, 0.3, 40).int_repr()"},
    {"convolutions",
     "a = ops.conv2d_prepack(torch.quantize_per_tensor(x[:, :, :3, :3].flip(0), 0.02, 0, torch.qint8), x[0, 0, 0, :2], "
     "[1, 2], [1, 0], [2, 1], 1)\n"
     "    b = ops.conv_transpose2d_prepack(torch.quantize_per_tensor(x[:, :, :3, :2].transpose(0, 1), 0.02, 2, "
     "torch.qint8), None, [2, 1], [1, 0], [1, 0], [1, 1], 1)\n"
     "    c = ops.conv1d_prepack(torch.quantize_per_tensor(x[:, :, 0, :3], 0.02, 0, torch.qint8), None, [2], [1], [1], "
     "1)\n"
     "    return ops.conv2d(q, a, 0.2, 50).int_repr(), ops.conv_transpose2d(q, b, 0.2, 50).int_repr(), "
     "ops.conv1d_relu(q.flatten(2), c, 0.2, 50).int_repr()"},
};

TEST(PlainIntegers, ProgramsGiveEagersIntegers) {
  manual_seed(3);
  for (const Case& each : kPrograms) {
    SCOPED_TRACE(each.name);
    const std::string text = std::string("def f(x: Tensor):\n    ops = torch.ops.quantized\n") +
                             "    q = torch.quantize_per_tensor(x, 0.05, 60, torch.quint8)\n"
                             "    t = torch.quantize_per_tensor(x.flip(0) * 0.7, 0.03, 100, torch.quint8)\n"
                             "    s = torch.quantize_per_tensor(x, 0.04, -3, torch.qint8)\n"
                             "    p = torch.quantize_per_channel(x, torch.tensor([0.1, 0.05, 0.02, 0.2]), "
                             "torch.tensor([0, 3, -7, 1]), 1, torch.qint8)\n    " +
                             each.body + "\n";
    const jit::CompilationUnit unit = jit::compile(text);
    ir::Function& function = unit.function("f").function();
    const std::shared_ptr<ir::Graph> graph = function.graph()->copy();
    find_dialect("core")->lower(*graph);
    ir::verify(*graph);
    for (const Outside& left : find_outside(*graph, *find_dialect("core"))) ADD_FAILURE() << to_string(left);
    ir::Function& lowered = function.unit().add_function("__torch__.lowered");
    lowered.set_schema(function.schema());
    lowered.set_graph(graph);
    const Tensor x = randn({2, 4, 6, 6});
    std::vector<Value> given = {x}, again = {x};
    manual_seed(4);
    const Value expected = runtime::run(function, given);
    manual_seed(4);
    const Value got = runtime::run(lowered, again);
    ASSERT_EQ(got.to_tuple().items.size(), expected.to_tuple().items.size());
    for (size_t i = 0; i < expected.to_tuple().items.size(); ++i) {
      const Tensor &a = got.to_tuple().items[i].to_tensor(), &b = expected.to_tuple().items[i].to_tensor();
      ASSERT_EQ(a.dtype(), b.dtype()) << i;
      ASSERT_EQ(a.sizes(), b.sizes()) << i;
      EXPECT_TRUE(equal(a, b)) << i;
    }
  }
}

// Packed weights of a module are constants of its graph; without the module they are named.
TEST(PlainIntegers, WeightsOfAModule) {
  const std::string path = testing::source_path("tests/conformance/quantized/mlp.script.pt");
  const jit::Module module = jit::load(path);
  const Dialect& core = *find_dialect("core");
  const ir::Graph& original = *module.method("forward").function().graph();
  const std::shared_ptr<ir::Graph> alone = original.copy(), known = original.copy();
  core.lower(*alone);
  const std::vector<Outside> left = find_outside(*alone, core);
  ASSERT_FALSE(left.empty());
  EXPECT_TRUE(std::ranges::any_of(left, [](const Outside& o) { return o.name == "quantized::linear_unpack"; }));
  const Value self = module.value();
  core.lower(*known, &self);
  EXPECT_TRUE(find_outside(*known, core).empty());
}

}  // namespace
}  // namespace sconce::lowering
