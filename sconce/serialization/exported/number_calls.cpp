#include "sconce/serialization/exported/number_calls.h"

#include <algorithm>

#include "sconce/ir/resolve.h"
#include "sconce/syntax/operators.h"

namespace sconce::exported {
namespace {

// What numbers have besides operators.
struct NumberCall {
  std::string_view function;
  size_t arguments;
  std::string_view op;
};
constexpr NumberCall kNumberCalls[] = {
    {"abs", 1, "prim::abs"},   {"max", 2, "prim::max"},     {"min", 2, "prim::min"},   {"float", 1, "aten::Float"},
    {"trunc", 1, "aten::Int"}, {"floor", 1, "aten::floor"}, {"ceil", 1, "aten::ceil"}, {"sqrt", 1, "aten::sqrt"},
    {"exp", 1, "aten::exp"},   {"log", 1, "aten::log"},     {"log2", 1, "aten::log2"}, {"sin", 1, "aten::sin"},
    {"cos", 1, "aten::cos"},   {"tan", 1, "aten::tan"},     {"asin", 1, "aten::asin"}, {"acos", 1, "aten::acos"},
    {"atan", 1, "aten::atan"}, {"sinh", 1, "aten::sinh"},   {"cosh", 1, "aten::cosh"}, {"tanh", 1, "aten::tanh"},
};

// Numbers have the others, too, but exported programs do not use them on sizes.
bool is_for_numbers(syntax::Operator op) {
  using syntax::Operator;
  return op != Operator::matmul && op != Operator::bit_xor && op != Operator::invert && op != Operator::in;
}

}  // namespace

std::string type_list(ListRef<ir::Value*> values) {
  std::string out;
  for (const ir::Value* v : values) out += (out.empty() ? "" : ", ") + v->type()->to_string();
  return "(" + out + ")";
}

std::string_view find_number_call(std::string_view function, size_t arguments) {
  if (const std::optional<syntax::Operator> op = syntax::operator_of_stem(function)) {
    const bool fits = is_for_numbers(*op) && arguments == (syntax::is_unary(*op) ? 1 : 2);
    return fits ? syntax::names_of(*op).op : std::string_view();
  }
  const auto* found = std::find_if(std::begin(kNumberCalls), std::end(kNumberCalls), [&](const NumberCall& c) {
    return c.function == function && c.arguments == arguments;
  });
  return found == std::end(kNumberCalls) ? std::string_view() : found->op;
}

ir::Value* insert_call(ir::Graph& graph, std::string_view name, ListRef<ir::Value*> inputs,
                       const sconce::Range& range) {
  std::vector<TypePtr> types;
  for (const ir::Value* v : inputs) types.push_back(v->type());
  const ir::Symbol kind(name);
  const ir::ResolvedOp resolved = ir::resolve_types(kind, types);
  SCONCE_CHECK(resolved.op, "no overload of {} takes {}", name, type_list(inputs));
  ir::Node* node = graph.create(kind, inputs);
  node->set_op(resolved.op);
  node->set_range(range);
  for (TypePtr type : resolved.returns) node->add_output(type);
  graph.insert(node);
  return node->outputs().empty() ? nullptr : node->output();
}

ir::Value* insert_number_call(ir::Graph& graph, std::string_view function, ListRef<ir::Value*> inputs,
                              const sconce::Range& range) {
  const std::string_view op = find_number_call(function, inputs.size());
  SCONCE_ASSERT(!op.empty());
  // Whole numbers stay as they are.
  const bool rounds = function == "trunc" || function == "floor" || function == "ceil";
  if (rounds && inputs[0]->type()->is(TypeKind::int_)) return inputs[0];
  if (function == "float" && inputs[0]->type()->is(TypeKind::float_)) return inputs[0];
  return insert_call(graph, op, inputs, range);
}

ir::Value* insert_conversion(ir::Graph& graph, ir::Value* v, TypePtr type, const sconce::Range& range) {
  if (v->type() == type) return v;
  switch (type->kind()) {
    case TypeKind::int_:
      return insert_call(graph, "aten::Int", {v}, range);
    case TypeKind::float_:
      return insert_call(graph, "aten::Float", {v}, range);
    case TypeKind::bool_:
      return insert_call(graph, "aten::Bool", {v}, range);
    default:
      fail("a value of type {} cannot become a {}", v->type()->annotation(), type->annotation());
  }
}

}  // namespace sconce::exported
