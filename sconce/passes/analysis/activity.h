// Activity analysis: finds the values of a graph that gradients flow through, and the nodes that can be differentiated.
#pragma once

#include <unordered_set>
#include <vector>

#include "sconce/ir/graph.h"

namespace sconce::passes {

// Whether a value of this type can be a tensor, or hold one.
bool may_hold_tensor(TypePtr type);
// List[Tensor]
bool is_tensor_list(TypePtr type);

// A value is active when it depends on an active input through operators that have gradients. The result of a node
// without known derivative (a call, an attribute) counts as active if it may hold a tensor.
class SCONCE_API Activity {
 public:
  // `inputs`: which inputs of the graph gradients are wanted for; only those of types that may hold a tensor count.
  Activity(const ir::Graph& graph, const std::vector<bool>& inputs);
  bool operator()(const ir::Value* v) const { return active_.contains(v); }
  // A value that takes the place of another.
  void note_replaced(const ir::Value* gone, const ir::Value* other) {
    if (active_.contains(gone)) active_.insert(other);
  }
  bool any_input(const ir::Node& node) const;
  bool any_output(const ir::Node& node) const;

 private:
  bool visit(const ir::Block& block);
  bool visit(const ir::Node& node);
  bool mark(const ir::Value* v, bool active);
  std::unordered_set<const ir::Value*> active_;
};

// Whether the node can be part of a region that is differentiated as a whole: it computes its results from its inputs
// and does nothing else, and has formulas (or a body of such operators) for the active ones. Of control flow: all
// that is inside.
SCONCE_API bool is_differentiable(const ir::Node& node, const Activity& active);
// Whether it has an operator without formulas whose body is to be differentiated in its place.
bool is_expandable(const ir::Node& node);
// prim::DifferentiableGraph, the kind that create_autodiff_subgraphs makes.
SCONCE_API ir::Symbol differentiable_graph();
// Whether the type, or the operator's schema, allows the result to be (a view of) an argument.
bool shares_memory(const ir::Value* v);

}  // namespace sconce::passes
