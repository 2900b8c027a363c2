#include "sconce/ir/graph.h"

#include <gtest/gtest.h>

namespace sconce::ir {
namespace {

// Every order in which nodes can be squeezed in keeps is_before true.
TEST(Graph, OrderAfterManyInsertions) {
  Graph graph;
  Node* first = graph.insert(graph.create_constant(0));
  Node* last = graph.insert(graph.create_constant(1));
  uint64_t state = 1;
  std::vector<Node*> nodes{first, last};
  for (int i = 0; i < 3000; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    Node* at = i < 1000 ? last : i < 2000 ? first->next() : nodes[(state >> 33) % nodes.size()];
    if (at == first) at = last;
    nodes.push_back(graph.create_constant(i)->insert_before(at));
  }
  size_t count = 0;
  for (const Node* n : graph.nodes()) {
    if (n->prev() != graph.block()->param_node()) {
      EXPECT_TRUE(n->prev()->is_before(n));
      EXPECT_FALSE(n->is_before(n->prev()));
    }
    ++count;
  }
  EXPECT_EQ(count, nodes.size());
  EXPECT_TRUE(first->is_before(last));
}

TEST(Graph, DestroyedNodesLeaveTheRest) {
  Graph graph;
  std::vector<Node*> nodes;
  for (int i = 0; i < 10; ++i) nodes.push_back(graph.insert(graph.create_constant(i)));
  for (int i = 0; i < 10; i += 2) nodes[static_cast<size_t>(i)]->destroy();
  std::vector<int64_t> left;
  for (const Node* n : graph.nodes()) left.push_back(constant_value(n->output())->to_int());
  EXPECT_EQ(left, (std::vector<int64_t>{1, 3, 5, 7, 9}));
}

}  // namespace
}  // namespace sconce::ir
