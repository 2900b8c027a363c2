#include "sconce/serialization/exported/exported_nodes.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "sconce/dispatch/budget/op_terms.h"
#include "sconce/dispatch/registry.h"
#include "sconce/ir/resolve.h"
#include "sconce/serialization/exported/number_calls.h"

namespace sconce::exported {
namespace {

using Kind = Argument::Kind;

constexpr std::string_view kOps = "torch.ops.", kHigherOrder = "torch.ops.higher_order.";
constexpr std::string_view kWithEffects = "torch.ops.higher_order.with_effects";

struct OpName {
  std::string name, overload;  // "aten::add", "Tensor"
};
// "torch.ops.aten.add.Tensor"; nothing for other targets.
std::optional<OpName> op_name(std::string_view target) {
  if (!target.starts_with(kOps) || target.starts_with(kHigherOrder)) return std::nullopt;
  target.remove_prefix(kOps.size());
  const size_t space = target.find('.'), overload = target.find('.', space == target.npos ? space : space + 1);
  if (overload == target.npos) return std::nullopt;
  OpName op;
  op.name = std::string(target.substr(0, space)) + "::" + std::string(target.substr(space + 1, overload - space - 1));
  op.overload = target.substr(overload + 1);
  if (op.overload == "default") op.overload.clear();
  return op;
}

// "mul" of "_operator.mul", "max" of "torch.sym_max"; empty if it is not a function on numbers.
std::string_view number_function(std::string_view target) {
  for (const std::string_view prefix : {"_operator.", "torch._sym_", "torch.sym_", "math."}) {
    if (!target.starts_with(prefix)) continue;
    target.remove_prefix(prefix.size());
    if (target == "and_") return "and";
    if (target == "or_") return "or";
    if (target == "int") return "trunc";
    return target;
  }
  return {};
}

bool is_number_target(const Node& node) {
  const std::string_view f = number_function(node.target);
  return f == "pos" || f == "ite" || f == "getitem" || (!f.empty() && !find_number_call(f, node.inputs.size()).empty());
}

void collect_missing(const Graph& graph, std::set<std::string>& missing) {
  for (const Node& node : graph.nodes) {
    const bool wraps = node.target == kWithEffects && node.inputs.size() > 1;
    if (const std::optional<OpName> op = op_name(wraps ? node.inputs[1].second.text : node.target)) {
      const bool known = find_op(op->name, op->overload);
      if (!known) missing.insert(op->name + (op->overload.empty() ? "" : "." + op->overload));
    } else if (!node.target.starts_with(kHigherOrder) && !is_number_target(node) && !is_vmap_target(node.target)) {
      missing.insert(node.target);
    }
    for (const auto& [name, argument] : node.inputs) {
      if (argument.graph) collect_missing(*argument.graph, missing);
    }
  }
}

TypePtr type_of_name(Kind kind) {
  switch (kind) {
    case Kind::sym_int:
      return int_type();
    case Kind::sym_float:
      return float_type();
    case Kind::sym_bool:
      return bool_type();
    default:
      return tensor_type();
  }
}

}  // namespace

std::vector<std::string> missing_operators(const Graph& graph) {
  std::set<std::string> missing;
  collect_missing(graph, missing);
  return {missing.begin(), missing.end()};
}

void NodeBuilder::define(Names& names, const std::string& name, ir::Value* v) {
  SCONCE_CHECK(names.emplace(name, v).second, "the value '{}' is defined twice", name);
  // A constant, or an input that goes on under another name, keeps its name and type.
  if (!v->has_name() && !v->node()->is(ir::kind::Constant)) v->set_name(name);
}

void NodeBuilder::insert_nodes(const Graph& graph, Names& names) {
  const std::string outer_place = std::move(place_);
  const size_t outer_node = node_;
  const Graph* outer_graph = nodes_of_;
  const int64_t outer_maps = vmap_.depth();
  place_ = graph.place;
  nodes_of_ = &graph;
  for (node_ = 0; node_ < graph.nodes.size(); ++node_) {
    const Node& node = graph.nodes[node_];
    const std::string at = place_ + ".nodes[" + std::to_string(node_) + "]";
    try {
      insert_node(node, names);
    } catch (const Error& error) {
      if (std::string_view(error.what()).starts_with(file_ + ": ")) throw;  // it has the place of an inner node
      fail("{}: {} ({}): {}", file_, at, node.target, error.what());
    }
  }
  SCONCE_CHECK(vmap_.depth() == outer_maps, "{}: {}: {} vmaps are open at its end", file_, graph.place,
               vmap_.depth() - outer_maps);
  place_ = outer_place;
  node_ = outer_node;
  nodes_of_ = outer_graph;
}

void NodeBuilder::insert_node(const Node& node, Names& names) {
  range_ = range_of(node);
  if (is_vmap_target(node.target)) return insert_vmap(node, names);
  if (node.target.starts_with(kHigherOrder)) {
    refuse_rows(node, names);
    return insert_control(node, names);
  }
  if (op_name(node.target)) return insert_operator(node, names);
  insert_number_function(node, names);
}

// The last frame of
//   File "model.py", line 12, in forward
//     return self.linear(x)
sconce::Range NodeBuilder::range_of(const Node& node) {
  const std::string_view trace = node.stack_trace;
  constexpr std::string_view kFile = "File \"", kLine = "\", line ";
  const size_t file = trace.rfind(kFile);
  if (file == trace.npos) return {};
  const std::string_view frame = trace.substr(file + kFile.size());
  const size_t line = frame.find(kLine), end = frame.find('\n');
  if (line == frame.npos || end == frame.npos || end < line) return {};
  SourcePtr& source = sources_[std::string(frame)];
  if (!source) {
    int number = 1;
    std::from_chars(frame.data() + line + kLine.size(), frame.data() + end, number);
    std::string_view code = frame.substr(end + 1);
    while (code.starts_with(' ')) code.remove_prefix(1);
    source = std::make_shared<Source>(std::string(frame.substr(0, line)), std::string(code), std::max(number, 1));
  }
  return {source, 0, static_cast<uint32_t>(source->text().size())};
}

// ---- arguments ----

ir::Value* NodeBuilder::value_of(const Argument& argument, const Names& names, TypePtr type) {
  const TypePtr plain = type ? plain_type(type) : nullptr;
  const TypePtr wanted = plain && plain->is(TypeKind::optional) ? plain->element() : plain;
  switch (argument.kind) {
    case Kind::none:
      return graph_.insert_constant(Value(), range_, none_type());
    case Kind::tensor:
    case Kind::sym_int:
    case Kind::sym_float:
    case Kind::sym_bool: {
      const auto found = names.find(argument.text);
      SCONCE_CHECK(found != names.end(), "there is no value '{}'", argument.text);
      ir::Value* v = found->second;
      if (wanted && wanted->is(TypeKind::float_) && v->type()->is(TypeKind::int_)) {
        return insert_conversion(graph_, v, wanted, range_);
      }
      return v;
    }
    case Kind::constant: {
      Value v = argument.value;
      if (wanted && wanted->is(TypeKind::float_) && v.is_int()) v = Value(static_cast<double>(v.to_int()));
      return graph_.insert_constant(std::move(v), range_);
    }
    case Kind::dtype:
    case Kind::layout:
    case Kind::memory_format:
      return graph_.insert_constant(argument.value, range_);
    case Kind::list:
      return list_of(argument, names, wanted);
    case Kind::graph:
      fail("a graph where a value must be");
    case Kind::op:
      fail("the operator '{}' as a value is not supported", argument.text);
    case Kind::unsupported:
      fail("{} is not supported", argument.text);
  }
  return nullptr;
}

// Lists of constants are constants; others are made of their items.
ir::Value* NodeBuilder::list_of(const Argument& argument, const Names& names, TypePtr type) {
  TypePtr element = type && type->is(TypeKind::list) ? type->element() : nullptr;
  std::vector<ir::Value*> items;
  for (const Argument& item : argument.items) items.push_back(value_of(item, names, element));
  const bool has_none = std::any_of(items.begin(), items.end(), [](ir::Value* v) { return ir::is_none(v); });
  if (!element || element->is(TypeKind::number)) {
    const auto value =
        std::find_if(items.begin(), items.end(), [](const ir::Value* v) { return !v->type()->is(TypeKind::none); });
    element = value == items.end() ? tensor_type() : (*value)->type();
    if (has_none) element = optional_type(element);
  }
  ir::Node* node = graph_.create(ir::kind::ListConstruct, items, 1);
  for (const ir::Value* v : items) {
    SCONCE_CHECK(is_subtype(v->type(), element), "a list of {} has an item of type {}", element->annotation(),
                 v->type()->annotation());
  }
  node->output()->set_type(list_type(element));
  return graph_.insert(node->set_range(range_))->output();
}

std::vector<ir::Value*> NodeBuilder::operator_inputs(const Node& node, const Op& op, const Names& names) {
  const Schema& schema = op.schema();
  std::vector<ir::Value*> inputs(schema.arguments.size());
  for (const auto& [name, argument] : node.inputs) {
    const std::optional<size_t> at = schema.find_argument(name);
    SCONCE_CHECK(at, "has an argument '{}', the operator is {}", name, schema.to_string());
    SCONCE_CHECK(!inputs[*at], "has argument '{}' twice", name);
    const sconce::Argument& formal = schema.arguments[*at];
    ir::Value* v = value_of(argument, names, formal.type);
    // One number for int[2].
    if (formal.fixed_size && argument.kind != Kind::list && argument.kind != Kind::none &&
        !v->type()->is(TypeKind::list)) {
      const std::vector<ir::Value*> repeated(static_cast<size_t>(*formal.fixed_size), v);
      ir::Node* list = graph_.create(ir::kind::ListConstruct, repeated, 1);
      list->output()->set_type(list_type(v->type()));
      v = graph_.insert(list->set_range(range_))->output();
    }
    inputs[*at] = v;
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i]) continue;
    const sconce::Argument& formal = schema.arguments[i];
    SCONCE_CHECK(formal.default_value, "has no argument '{}', the operator is {}", formal.name, schema.to_string());
    inputs[i] = graph_.insert_constant(*formal.default_value, range_);
  }
  return inputs;
}

// ---- calls ----

void NodeBuilder::numbers_to_tensors(const Schema& schema, std::vector<ir::Value*>& inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const TypePtr formal = schema.arguments[i].type, type = inputs[i]->type();
    const bool is_number = is_subtype(type, number_type()) || type->is(TypeKind::bool_);
    const bool takes_tensor =
        formal->is(TypeKind::tensor) || (formal->is(TypeKind::optional) && formal->element()->is(TypeKind::tensor));
    if (is_number && takes_tensor) inputs[i] = insert_call(graph_, "sconce::number_tensor", {inputs[i]}, range_);
  }
}

void NodeBuilder::insert_operator(const Node& node, Names& names) {
  const OpName name = *op_name(node.target);
  const Op* op = find_op(name.name, name.overload);
  SCONCE_CHECK(op, "there is no operator of this name");
  SCONCE_CHECK(!is_hidden(*op), "{} {}", op->qualified_name(), kHidden);
  std::vector<ir::Value*> inputs = operator_inputs(node, *op, names);
  if (autocast_) autocast_inputs(node, *op, inputs);
  const auto types = [&] {
    std::vector<TypePtr> all;
    for (const ir::Value* v : inputs) all.push_back(v->type());
    return all;
  };
  std::optional<std::vector<TypePtr>> returns = ir::match_types(op->schema(), types());
  if (!returns) {
    // Python takes a number for a tensor: add.Tensor(x, 2) is add.Scalar, sub.Tensor(2, x) makes a tensor of it.
    ir::ResolvedOp other = ir::resolve_types(ir::Symbol(name.name), types());
    if (other.op) {
      op = other.op;
      returns = std::move(other.returns);
    } else {
      numbers_to_tensors(op->schema(), inputs);
      returns = ir::match_types(op->schema(), types());
    }
    SCONCE_CHECK(returns, "is called with {}, the operator is {}", type_list(inputs), op->schema().to_string());
  }
  const bool mapped = std::any_of(inputs.begin(), inputs.end(), [&](ir::Value* v) { return vmap_.has_rows(v); });
  if (mapped) return insert_mapped(node, *op, *returns, inputs, names);
  ir::Node* made = graph_.create(ir::Symbol(name.name), inputs);
  made->set_op(op);
  made->set_range(range_);
  for (TypePtr type : *returns) made->add_output(type);
  graph_.insert(made);
  bind_outputs(node, made->outputs(), names);
}

void NodeBuilder::insert_mapped(const Node& node, const Op& op, ListRef<TypePtr> returns,
                                const std::vector<ir::Value*>& inputs, Names& names) {
  Vmap::Metas metas;
  const auto add = [&](const Argument& argument) {
    if (argument.kind != Kind::tensor) return;
    const auto meta = nodes_of_->tensors.find(argument.text);
    if (meta != nodes_of_->tensors.end()) metas.emplace(names.at(argument.text), &meta->second);
  };
  for (const auto& [name, argument] : node.inputs) {
    add(argument);
    for (const Argument& item : argument.items) add(item);
  }
  std::vector<size_t> counts;
  std::vector<const Argument*> outputs;
  for (const Argument& output : node.outputs) {
    const bool is_list = output.kind == Kind::list;
    counts.push_back(is_list ? output.items.size() : 0);
    if (!is_list) outputs.push_back(&output);
    for (const Argument& item : output.items) outputs.push_back(&item);
  }
  SCONCE_CHECK(counts.size() == returns.size(), "has {} outputs, the operator has {}", counts.size(), returns.size());
  const std::vector<ir::Value*> made = vmap_.call(op, returns, inputs, metas, counts, range_);
  SCONCE_CHECK(made.size() == outputs.size(), "has {} outputs, the operator has {}", outputs.size(), made.size());
  for (size_t i = 0; i < made.size(); ++i) bind_output(*outputs[i], made[i], names);
}

// Graphs inside of a vmap are for values that are the same for all rows.
void NodeBuilder::refuse_rows(const Node& node, const Names& names) const {
  const auto check = [&](const Argument& argument) {
    const auto found = argument.is_name() ? names.find(argument.text) : names.end();
    SCONCE_CHECK(found == names.end() || !vmap_.has_rows(found->second),
                 "inside of a vmap is not supported: '{}' differs from row to row", argument.text);
  };
  for (const auto& [name, argument] : node.inputs) {
    check(argument);
    for (const Argument& item : argument.items) check(item);
  }
}

void NodeBuilder::insert_vmap(const Node& node, Names& names) {
  const std::string_view function = std::string_view(node.target).substr(node.target.rfind('.') + 1);
  const auto need = [&](size_t count) {
    SCONCE_CHECK(node.inputs.size() == count, "has {} arguments, needs {}", node.inputs.size(), count);
  };
  const auto number = [&](size_t at) {
    const Argument& argument = node.inputs[at].second;
    SCONCE_CHECK(argument.kind == Kind::constant && argument.value.is_int(), "argument {} must be an int", at);
    return argument.value.to_int();
  };
  const auto tensor = [&](size_t at) {
    SCONCE_CHECK(node.inputs[at].second.kind == Kind::tensor, "argument {} must be a tensor", at);
    return value_of(node.inputs[at].second, names);
  };
  if (function == "_vmap_increment_nesting") {
    need(2);
    const Value& randomness = node.inputs[1].second.value;
    SCONCE_CHECK(randomness.is_string(), "argument 1 must be a str");
    return vmap_.enter(randomness.to_string_ref());
  }
  if (function == "_vmap_decrement_nesting") return vmap_.leave();
  if (function == "lazy_load_decompositions") return;
  SCONCE_CHECK(node.outputs.size() == 1 && node.outputs[0].kind == Kind::tensor, "must have a tensor as its output");
  if (function == "_add_batch_dim") {
    need(3);
    return bind_output(node.outputs[0], vmap_.add_dim(tensor(0), number(1), number(2), range_), names);
  }
  need(4);
  ir::Value* size = value_of(node.inputs[2].second, names);
  SCONCE_CHECK(size->type()->is(TypeKind::int_), "argument 2 must be an int");
  const auto meta = nodes_of_->tensors.find(node.outputs[0].text);
  SCONCE_CHECK(meta != nodes_of_->tensors.end(), "tensor_values has no entry for '{}'", node.outputs[0].text);
  ir::Value* given = vmap_.remove_dim(tensor(0), number(1), size, number(3), meta->second.sizes.size(), range_);
  bind_output(node.outputs[0], given, names);
}

void NodeBuilder::insert_number_function(const Node& node, Names& names) {
  const std::string_view function = number_function(node.target);
  std::vector<ir::Value*> inputs;
  for (const auto& [name, argument] : node.inputs) inputs.push_back(value_of(argument, names));
  const auto need = [&](size_t count) {
    SCONCE_CHECK(inputs.size() == count, "has {} arguments, needs {}", inputs.size(), count);
  };
  ir::Value* result = nullptr;
  if (function == "pos") {
    need(1);
    result = inputs[0];
  } else if (function == "getitem") {
    need(2);
    result = insert_call(graph_, "aten::__getitem__", inputs, range_);
  } else if (function == "ite") {
    need(3);
    ir::Node* branch = graph_.create(ir::kind::If, {condition(inputs[0])}, 1);
    branch->add_block()->add_output(inputs[1]);
    branch->add_block()->add_output(inputs[2]);
    SCONCE_CHECK(inputs[1]->type() == inputs[2]->type(), "gives a {} or a {}", inputs[1]->type()->annotation(),
                 inputs[2]->type()->annotation());
    branch->output()->set_type(inputs[1]->type());
    result = graph_.insert(branch->set_range(range_))->output();
  } else {
    SCONCE_CHECK(!find_number_call(function, inputs.size()).empty(), "is no function that is known");
    result = insert_number_call(graph_, function, inputs, range_);
  }
  bind_outputs(node, {result}, names);
}

// with_effects(token, operator, arguments...) -> token, results...: tokens say in which order operators run, as nodes
// of a graph do anyway.
void NodeBuilder::insert_with_effects(const Node& node, Names& names) {
  SCONCE_CHECK(node.inputs.size() >= 2 && node.inputs[1].second.kind == Kind::op, "must have a token and an operator");
  SCONCE_CHECK(!node.outputs.empty(), "must have a token as its first output");
  Node call;
  call.target = node.inputs[1].second.text;
  const std::optional<OpName> name = op_name(call.target);
  const Op* op = name ? find_op(name->name, name->overload) : nullptr;
  SCONCE_CHECK(op, "there is no operator '{}'", call.target);
  for (size_t i = 2; i < node.inputs.size(); ++i) {
    call.inputs.push_back(node.inputs[i]);
    if (!call.inputs.back().first.empty()) continue;
    SCONCE_CHECK(i - 2 < op->schema().arguments.size(), "has {} arguments, the operator is {}", node.inputs.size() - 2,
                 op->schema().to_string());
    call.inputs.back().first = op->schema().arguments[i - 2].name;
  }
  for (size_t i = 1; i < node.outputs.size(); ++i) {
    if (node.outputs[i].kind != Kind::none || i <= op->schema().returns.size()) call.outputs.push_back(node.outputs[i]);
  }
  insert_operator(call, names);
  define(names, node.outputs[0].text, graph_.insert_constant(Value(), range_, none_type()));
}

// ---- results ----

void NodeBuilder::bind_outputs(const Node& node, ListRef<ir::Value*> made, Names& names) {
  SCONCE_CHECK(node.outputs.size() == made.size(), "has {} outputs, the operator has {}", node.outputs.size(),
               made.size());
  for (size_t i = 0; i < made.size(); ++i) bind_output(node.outputs[i], made[i], names);
}

void NodeBuilder::bind_output(const Argument& output, ir::Value* made, Names& names) {
  if (output.kind == Kind::none) return;
  if (output.kind == Kind::list) return unpack_list(output, made, names);
  SCONCE_CHECK(output.is_name(), "an output must be a value");
  const TypePtr type = type_of_name(output.kind);
  if (output.kind != Kind::tensor) {
    made = insert_conversion(graph_, made, type, range_);
  } else if (!made->type()->is(TypeKind::tensor)) {
    // The table says Tensor?; the program knows that it is one.
    SCONCE_CHECK(made->type()->is(TypeKind::optional) && made->type()->element()->is(TypeKind::tensor),
                 "the output '{}' is of type {}, not a tensor", output.text, made->type()->annotation());
    made = insert_call(graph_, "aten::_unwrap_optional", {made}, range_);
  }
  define(names, output.text, made);
}

void NodeBuilder::unpack_list(const Argument& output, ir::Value* list, Names& names) {
  SCONCE_CHECK(list->type()->is(TypeKind::list), "has a list of outputs, and its result is of type {}",
               list->type()->annotation());
  ir::Node* unpack = graph_.create(ir::kind::ListUnpack, {list}, output.items.size());
  for (ir::Value* v : unpack->outputs()) v->set_type(list->type()->element());
  graph_.insert(unpack->set_range(range_));
  for (size_t i = 0; i < output.items.size(); ++i) bind_output(output.items[i], unpack->output(i), names);
}

}  // namespace sconce::exported
