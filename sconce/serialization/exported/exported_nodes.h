// Node import: translates the nodes of an exported program to nodes of our IR.
//
//   torch.ops.aten.mul.Tensor(x, 2)   =>  aten::mul(%x, %c)        overloads as the types of the arguments say
//   _operator.mul(s0, 2)              =>  aten::mul(%s0, %c)       numbers
//   a, b = split(x)                   =>  prim::ListUnpack
//   cond, while_loop, scan, map       =>  prim::If, prim::Loop     other subgraphs are inlined
//   wrap_with_autocast                =>  aten::to                 of the arguments that autocast would convert
//   vmap                              =>  calls over all rows      (exported_vmap.h)
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "sconce/ir/graph.h"
#include "sconce/serialization/exported/exported_json.h"
#include "sconce/serialization/exported/exported_vmap.h"

namespace sconce::exported {

// The operators in a graph, and in the graphs inside, that Sconce does not have: "aten::foo.default", sorted.
std::vector<std::string> missing_operators(const Graph& graph);

class NodeBuilder {
 public:
  using Names = std::unordered_map<std::string, ir::Value*>;

  // Nodes go to the insert point of `graph`; `file` is what errors start with.
  NodeBuilder(ir::Graph& graph, std::string file) : graph_(graph), file_(std::move(file)), vmap_(graph) {}

  // Inserts the nodes of a graph; `names` has its inputs and gets the results of nodes. Throws Error with the place
  // in the file.
  void insert_nodes(const Graph& graph, Names& names);
  // The value that an argument is: a name, or a constant. `type`, when given, is the type that is wanted.
  ir::Value* value_of(const Argument& argument, const Names& names, TypePtr type = nullptr);
  void define(Names& names, const std::string& name, ir::Value* v);

 private:
  void insert_node(const Node& node, Names& names);
  void insert_operator(const Node& node, Names& names);
  void insert_with_effects(const Node& node, Names& names);
  void insert_number_function(const Node& node, Names& names);
  void insert_vmap(const Node& node, Names& names);
  void insert_mapped(const Node& node, const Op& op, ListRef<TypePtr> returns, const std::vector<ir::Value*>& inputs,
                     Names& names);
  void refuse_rows(const Node& node, const Names& names) const;
  std::vector<ir::Value*> operator_inputs(const Node& node, const Op& op, const Names& names);
  void numbers_to_tensors(const Schema& schema, std::vector<ir::Value*>& inputs);
  void bind_outputs(const Node& node, ListRef<ir::Value*> made, Names& names);
  void bind_output(const Argument& output, ir::Value* made, Names& names);
  void unpack_list(const Argument& output, ir::Value* list, Names& names);
  ir::Value* list_of(const Argument& argument, const Names& names, TypePtr type);
  sconce::Range range_of(const Node& node);

  // Nodes with graphs (exported_control.cpp).
  void insert_control(const Node& node, Names& names);
  void insert_cond(const Node& node, Names& names);
  void insert_while(const Node& node, Names& names);
  void insert_scan(const Node& node, Names& names);
  void insert_map(const Node& node, Names& names);
  // The loop over rows that both of them are: `carried` comes first in the body's inputs and outputs.
  void insert_rows(const Node& node, ListRef<ir::Value*> carried, size_t rows_at, size_t rest_at, Names& names);
  void insert_autocast(const Node& node, Names& names);
  void insert_inlined(const Node& node, size_t graph_at, Names& names, bool detached);
  std::vector<ir::Value*> inline_graph(const Graph& graph, ListRef<ir::Value*> inputs);
  std::vector<ir::Value*> operands(const Node& node, size_t from, const Names& names);
  void bind_results(const Node& node, ListRef<ir::Value*> results, Names& names);
  const Graph& graph_argument(const Node& node, size_t at);
  ir::Value* condition(ir::Value* v);

  // The inputs of an operator as autocast passes them on (exported_autocast.cpp).
  void autocast_inputs(const Node& node, const Op& op, std::vector<ir::Value*>& inputs);
  ir::Value* converted(ir::Value* v, DType to);
  std::optional<DType> dtype_of(const Argument& argument) const;

  ir::Graph& graph_;
  std::string file_;
  Vmap vmap_;
  std::optional<DType> autocast_;                       // what autocast converts to here, when it is on
  const Graph* nodes_of_ = nullptr;                     // the graph whose nodes are inserted
  std::string place_;                                   // of the graph
  size_t node_ = 0;                                     // in it
  sconce::Range range_;                                 // of the node
  std::unordered_map<std::string, SourcePtr> sources_;  // by the last frame of a stack trace
};

}  // namespace sconce::exported
