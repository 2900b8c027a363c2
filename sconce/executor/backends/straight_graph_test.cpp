#include "sconce/executor/backends/straight_graph.h"

#include <gtest/gtest.h>

#include "sconce/ir/graph_parser.h"
#include "sconce/ir/verifier.h"
#include "sconce/testing/golden_file.h"
#include "sconce/testing/source_tree.h"

namespace sconce::executor {
namespace {

TEST(StraightGraph, IsAsExpected) {
  testing::check_golden_file(testing::source_path("sconce/executor/backends/straight_graph.test"),
                             [](const std::string& text) {
                               const std::shared_ptr<ir::Graph> graph = ir::parse_graph(text);
                               std::vector<Tensor> twins;
                               for (const ir::Value* v : graph->inputs()) twins.push_back(twin_of_type(v->type()));
                               const std::shared_ptr<ir::Graph> made = straighten(*graph, twins);
                               if (!made) return std::string("not straight\n");
                               ir::verify(*made);
                               return made->to_string(false);
                             });
}

}  // namespace
}  // namespace sconce::executor
