// autodiff.test has graphs and what they are differentiated to:
//
//   -- what the case shows
//   graph(%x : Tensor, ...):        gradients are wanted for all tensors
//   ---- f
//   graph...
//   ---- df
//   graph...
//
// SCONCE_ACCEPT=1 rewrites what is expected.
#include "sconce/lowering/autodiff.h"

#include <cstdlib>
#include <fstream>
#include <set>

#include <gtest/gtest.h>

#include "sconce/dispatch/registry.h"
#include "sconce/ir/graph_parser.h"
#include "sconce/ir/verifier.h"
#include "sconce/passes/analysis/op_graphs.h"
#include "sconce/testing/source_tree.h"

namespace sconce::passes {
namespace {

struct Case {
  std::string title;
  std::string parts[3];  // the graph, f, df
};

std::vector<Case> read_cases(const std::string& path) {
  std::ifstream in(path);
  std::vector<Case> cases;
  size_t part = 0;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("-- ")) {
      cases.emplace_back().title = line.substr(3);
      part = 0;
    } else if (line == "---- f" || line == "---- df") {
      part = line == "---- f" ? 1 : 2;
    } else if (!line.empty() && !cases.empty()) {
      cases.back().parts[part] += line + "\n";
    }
  }
  return cases;
}

void write_cases(const std::string& path, const std::vector<Case>& cases) {
  std::ofstream out(path);
  for (const Case& c : cases) {
    if (&c != cases.data()) out << "\n";
    out << "-- " << c.title << "\n" << c.parts[0] << "---- f\n" << c.parts[1] << "---- df\n" << c.parts[2];
  }
}

std::string canonical(const ir::Graph& graph) {
  std::string text = graph.copy()->to_string(false);
  while (text.ends_with("\n\n")) text.pop_back();
  return text;
}

TEST(Autodiff, GraphsAreAsExpected) {
  const std::string path = testing::source_path("sconce/lowering/autodiff.test");
  std::vector<Case> cases = read_cases(path);
  EXPECT_FALSE(cases.empty());
  const bool accept = std::getenv("SCONCE_ACCEPT");
  for (Case& c : cases) {
    SCOPED_TRACE(c.title);
    const std::shared_ptr<ir::Graph> graph = ir::parse_graph(c.parts[0]);
    std::vector<bool> wanted;
    for (const ir::Value* v : graph->inputs()) wanted.push_back(v->type()->is(TypeKind::tensor));
    Differentiation made(graph, wanted);
    const std::shared_ptr<ir::Graph> df = made.backward(wanted, false), second = made.backward(wanted, true);
    ir::verify(*made.forward());
    ir::verify(*df);
    ir::verify(*second);
    EXPECT_EQ(made.forward()->outputs().size(), made.captures().size() + made.differentiable_outputs().size());
    const std::string got[] = {c.parts[0], canonical(*made.forward()), canonical(*df)};
    for (size_t i = 1; i < 3; ++i) {
      if (accept)
        c.parts[i] = got[i];
      else
        EXPECT_EQ(got[i], c.parts[i]) << (i == 1 ? "f" : "df");
    }
  }
  if (accept) write_cases(path, cases);
}

// What the table has as text can be compiled, but for these, which are written for the generator alone: C++ has methods
// of numbers where the language has none, and gives None and lists other types. Such an operator is not differentiated,
// or expanded, in graphs; its calls record. A text that stops compiling would do so silently.
TEST(Autodiff, FormulasAndBodiesBecomeGraphs) {
  const std::set<std::string> formulas_without = {"aten::aminmax",
                                                  "aten::_fused_rms_norm_backward",
                                                  "aten::addcdiv",
                                                  "aten::batch_norm_backward",
                                                  "aten::clamp.Tensor",
                                                  "aten::native_batch_norm_backward",
                                                  "aten::native_group_norm_backward",
                                                  "aten::native_layer_norm_backward",
                                                  "aten::remainder.Scalar_Tensor"};
  const std::set<std::string> bodies_without = {"aten::_convolution_double_backward",
                                                "aten::cov",
                                                "aten::linalg_matrix_rank",
                                                "aten::linalg_matrix_rank.atol_rtol_float",
                                                "aten::linalg_pinv",
                                                "aten::linalg_pinv.atol_rtol_float",
                                                "aten::linalg_matrix_rank.tol_tensor",
                                                "aten::linalg_pinv.rcond_tensor",
                                                "aten::mT.a",
                                                "aten::pinverse"};
  std::set<std::string> formulas, bodies;
  for (const Op* op : all_ops()) {
    if (op->has(Trait::inplace) || op->has(Trait::out) || op->schema().is_mutable()) continue;
    if (!op->origin().starts_with("ops/")) continue;
    if (op->info.texts.derivatives && !op_graphs()->formulas(*op)) formulas.insert(op->qualified_name());
    if (op->info.texts.body && !op_graphs()->body(*op)) bodies.insert(op->qualified_name());
  }
  EXPECT_EQ(formulas, formulas_without);
  EXPECT_EQ(bodies, bodies_without);
}

}  // namespace
}  // namespace sconce::passes
