// Nodes that have graphs: branches, loops, and regions that are called as if they stood where they are.
#include "sconce/serialization/exported/exported_nodes.h"
#include "sconce/serialization/exported/number_calls.h"

namespace sconce::exported {

void NodeBuilder::insert_control(const Node& node, Names& names) {
  constexpr std::string_view kSpace = "torch.ops.higher_order.";
  const std::string_view name = std::string_view(node.target).substr(kSpace.size());
  if (name == "cond") return insert_cond(node, names);
  if (name == "while_loop") return insert_while(node, names);
  if (name == "scan") return insert_scan(node, names);
  if (name == "map_impl") return insert_map(node, names);
  if (name == "wrap_with_autocast") return insert_autocast(node, names);
  if (name == "wrap_with_set_grad_enabled") {
    // Results computed without gradients have none: the same values, detached.
    SCONCE_CHECK(!node.inputs.empty() && node.inputs[0].second.value.is_bool(), "must begin with true or false");
    return insert_inlined(node, 1, names, !node.inputs[0].second.value.to_bool());
  }
  if (name == "with_effects") return insert_with_effects(node, names);
  if (name == "invoke_subgraph") {  // graph, its name, operands
    SCONCE_CHECK(node.inputs.size() >= 2, "must have a graph and a name");
    Node call = node;
    call.inputs.erase(call.inputs.begin() + 1);
    return insert_inlined(call, 0, names, false);
  }
  // torch.export.save has no form for its block mask, a tuple of numbers, tensors and a graph (PyTorch 2.13).
  if (name == "flex_attention") {
    fail(
        "the higher-order operator '{}' is not supported; exported by its formula, which is "
        "torch._higher_order_ops.flex_attention.math_attention, the program can be run",
        name);
  }
  fail(
      "the higher-order operator '{}' is not supported; cond, while_loop, scan, map, wrap_with_set_grad_enabled, "
      "wrap_with_autocast, with_effects and invoke_subgraph are",
      name);
}

const Graph& NodeBuilder::graph_argument(const Node& node, size_t at) {
  SCONCE_CHECK(at < node.inputs.size() && node.inputs[at].second.graph, "argument {} must be a graph", at);
  return *node.inputs[at].second.graph;
}

// The arguments from a place on; a list stands for its items.
std::vector<ir::Value*> NodeBuilder::operands(const Node& node, size_t from, const Names& names) {
  std::vector<ir::Value*> values;
  for (size_t i = from; i < node.inputs.size(); ++i) {
    const Argument& argument = node.inputs[i].second;
    if (argument.kind != Argument::Kind::list) {
      values.push_back(value_of(argument, names));
      continue;
    }
    for (const Argument& item : argument.items) values.push_back(value_of(item, names));
  }
  return values;
}

std::vector<ir::Value*> NodeBuilder::inline_graph(const Graph& graph, ListRef<ir::Value*> inputs) {
  SCONCE_CHECK(graph.inputs.size() == inputs.size(), "its graph has {} inputs, {} are given", graph.inputs.size(),
               inputs.size());
  const sconce::Range range = range_;
  Names names;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (graph.inputs[i].is_name()) define(names, graph.inputs[i].text, inputs[i]);
  }
  insert_nodes(graph, names);
  range_ = range;
  std::vector<ir::Value*> outputs;
  for (const Argument& output : graph.outputs) outputs.push_back(value_of(output, names));
  return outputs;
}

// Outputs of a graph may be written as one list.
void NodeBuilder::bind_results(const Node& node, ListRef<ir::Value*> results, Names& names) {
  const bool listed = node.outputs.size() == 1 && node.outputs[0].kind == Argument::Kind::list;
  const std::vector<Argument>& outputs = listed ? node.outputs[0].items : node.outputs;
  SCONCE_CHECK(outputs.size() == results.size(), "has {} outputs, its graph has {}", outputs.size(), results.size());
  for (size_t i = 0; i < results.size(); ++i) bind_output(outputs[i], results[i], names);
}

ir::Value* NodeBuilder::condition(ir::Value* v) { return insert_conversion(graph_, v, bool_type(), range_); }

// cond(condition, graph, graph, operands)
void NodeBuilder::insert_cond(const Node& node, Names& names) {
  const Graph* branches[] = {&graph_argument(node, 1), &graph_argument(node, 2)};
  const std::vector<ir::Value*> inputs = operands(node, 3, names);
  ir::Node* branch = graph_.create(ir::kind::If, {condition(value_of(node.inputs[0].second, names))});
  graph_.insert(branch->set_range(range_));
  for (const Graph* graph : branches) {
    ir::Block* block = branch->add_block();
    const ir::InsertPoint inside(graph_, block);
    for (ir::Value* v : inline_graph(*graph, inputs)) block->add_output(v);
  }
  const std::vector<ir::Value*>&first = branch->block_at(0)->outputs(), &second = branch->block_at(1)->outputs();
  SCONCE_CHECK(first.size() == second.size(), "its branches have {} and {} outputs", first.size(), second.size());
  for (size_t i = 0; i < first.size(); ++i) {
    const TypePtr a = first[i]->type(), b = second[i]->type();
    const TypePtr type = is_subtype(a, b) ? b : is_subtype(b, a) ? a : union_type({a, b});
    branch->add_output(type);
  }
  bind_results(node, branch->outputs(), names);
}

// while_loop(condition graph, body graph, carried values, constant values)
void NodeBuilder::insert_while(const Node& node, Names& names) {
  const Graph &test = graph_argument(node, 0), &body = graph_argument(node, 1);
  SCONCE_CHECK(node.inputs.size() == 4 && node.inputs[2].second.kind == Argument::Kind::list,
               "must have two graphs and two lists");
  const size_t carried = node.inputs[2].second.items.size();
  std::vector<ir::Value*> inputs = operands(node, 2, names);
  const std::vector<ir::Value*> constant(inputs.begin() + static_cast<int64_t>(carried), inputs.end());
  const auto run_test = [&](ListRef<ir::Value*> values) {
    const std::vector<ir::Value*> results = inline_graph(test, values);
    SCONCE_CHECK(results.size() == 1, "its condition has {} outputs", results.size());
    return condition(results[0]);
  };

  std::vector<ir::Value*> loop_inputs{graph_.insert_constant(Value(INT64_MAX), range_), run_test(inputs)};
  loop_inputs.insert(loop_inputs.end(), inputs.begin(), inputs.begin() + static_cast<int64_t>(carried));
  ir::Node* loop = graph_.create(ir::kind::Loop, loop_inputs);
  graph_.insert(loop->set_range(range_));
  ir::Block* block = loop->add_block();
  block->add_input(int_type());
  std::vector<ir::Value*> inside;
  for (size_t i = 0; i < carried; ++i) {
    inside.push_back(block->add_input(inputs[i]->type()));
    loop->add_output(inputs[i]->type());
  }
  inside.insert(inside.end(), constant.begin(), constant.end());
  {
    const ir::InsertPoint in_block(graph_, block);
    std::vector<ir::Value*> next = inline_graph(body, inside);
    SCONCE_CHECK(next.size() == carried, "its body has {} outputs, {} values are carried", next.size(), carried);
    for (size_t i = 0; i < carried; ++i) {
      SCONCE_CHECK(is_subtype(next[i]->type(), inputs[i]->type()), "carries a {} that becomes a {}",
                   inputs[i]->type()->annotation(), next[i]->type()->annotation());
    }
    std::vector<ir::Value*> next_inputs = next;
    next_inputs.insert(next_inputs.end(), constant.begin(), constant.end());
    block->add_output(run_test(next_inputs));
    for (ir::Value* v : next) block->add_output(v);
  }
  bind_results(node, loop->outputs(), names);
}

// scan(graph, first carried values, rows, further values): (carried, row) to (carried, result) for row after row.
void NodeBuilder::insert_scan(const Node& node, Names& names) {
  SCONCE_CHECK(node.inputs.size() == 4 && node.inputs[1].second.kind == Argument::Kind::list,
               "must have a graph and three lists");
  std::vector<ir::Value*> carried;
  for (const Argument& item : node.inputs[1].second.items) carried.push_back(value_of(item, names));
  insert_rows(node, carried, 2, 3, names);
}

// map_impl(graph, rows, further values)
void NodeBuilder::insert_map(const Node& node, Names& names) {
  SCONCE_CHECK(node.inputs.size() == 3, "must have a graph and two lists");
  insert_rows(node, {}, 1, 2, names);
}

//   for i in range(rows[0].size(0)):
//       carried, result = graph(carried, rows[0][i], ..., rest)
//       results.append(result)
//   return carried, torch.stack(results)
void NodeBuilder::insert_rows(const Node& node, ListRef<ir::Value*> carried, size_t rows_at, size_t rest_at,
                              Names& names) {
  const Graph& body = graph_argument(node, 0);
  for (const size_t at : {rows_at, rest_at}) {
    SCONCE_CHECK(node.inputs[at].second.kind == Argument::Kind::list, "argument {} must be a list", at);
  }
  std::vector<ir::Value*> rows, rest;
  for (const Argument& item : node.inputs[rows_at].second.items) rows.push_back(value_of(item, names));
  for (const Argument& item : node.inputs[rest_at].second.items) rest.push_back(value_of(item, names));
  SCONCE_CHECK(!rows.empty(), "must have a tensor to go over");
  SCONCE_CHECK(body.outputs.size() >= carried.size(), "its graph has {} outputs, {} values are carried",
               body.outputs.size(), carried.size());

  ir::Value* zero = graph_.insert_constant(Value(int64_t{0}), range_);
  ir::Value* count = insert_call(graph_, "aten::size", {rows[0], zero}, range_);
  std::vector<ir::Value*> lists;
  for (size_t i = carried.size(); i < body.outputs.size(); ++i) {
    ir::Node* list = graph_.create(ir::kind::ListConstruct, {}, 1);
    list->output()->set_type(list_type(tensor_type()));
    lists.push_back(graph_.insert(list->set_range(range_))->output());
  }
  std::vector<ir::Value*> loop_inputs{count, graph_.insert_constant(Value(true), range_)};
  loop_inputs.insert(loop_inputs.end(), carried.begin(), carried.end());
  ir::Node* loop = graph_.create(ir::kind::Loop, loop_inputs);
  graph_.insert(loop->set_range(range_));
  ir::Block* block = loop->add_block();
  ir::Value* turn = block->add_input(int_type());
  std::vector<ir::Value*> inside;
  for (ir::Value* v : carried) {
    inside.push_back(block->add_input(v->type()));
    loop->add_output(v->type());
  }
  {
    const ir::InsertPoint in_block(graph_, block);
    ir::Value* dim = graph_.insert_constant(Value(int64_t{0}), range_);
    for (ir::Value* v : rows) inside.push_back(insert_call(graph_, "aten::select", {v, dim, turn}, range_));
    inside.insert(inside.end(), rest.begin(), rest.end());
    const std::vector<ir::Value*> results = inline_graph(body, inside);
    block->add_output(graph_.insert_constant(Value(true), range_));
    for (size_t i = 0; i < results.size(); ++i) {
      if (i >= carried.size()) {
        insert_call(graph_, "aten::append", {lists[i - carried.size()], results[i]}, range_);
        continue;
      }
      SCONCE_CHECK(is_subtype(results[i]->type(), carried[i]->type()), "carries a {} that becomes a {}",
                   carried[i]->type()->annotation(), results[i]->type()->annotation());
      block->add_output(results[i]);
    }
  }
  std::vector<ir::Value*> outputs = loop->outputs();
  for (ir::Value* list : lists) outputs.push_back(insert_call(graph_, "aten::stack", {list, zero}, range_));
  bind_results(node, outputs, names);
}

void NodeBuilder::insert_inlined(const Node& node, size_t graph_at, Names& names, bool detached) {
  std::vector<ir::Value*> results = inline_graph(graph_argument(node, graph_at), operands(node, graph_at + 1, names));
  if (detached) {
    for (ir::Value*& v : results) {
      if (v->type()->is(TypeKind::tensor)) v = insert_call(graph_, "aten::detach", {v}, range_);
    }
  }
  bind_results(node, results, names);
}

}  // namespace sconce::exported
