#include "sconce/serialization/exported/number_calls.h"

#include <algorithm>

#include "sconce/ir/resolve.h"

namespace sconce::exported {
namespace {

struct NumberCall {
  std::string_view function;
  size_t arguments;
  const char* op;
};
constexpr NumberCall kNumberCalls[] = {
    {"add", 2, "aten::add"},
    {"sub", 2, "aten::sub"},
    {"mul", 2, "aten::mul"},
    {"truediv", 2, "aten::div"},
    {"floordiv", 2, "aten::floordiv"},
    {"mod", 2, "aten::remainder"},
    {"pow", 2, "aten::pow"},
    {"neg", 1, "aten::neg"},
    {"abs", 1, "prim::abs"},
    {"max", 2, "prim::max"},
    {"min", 2, "prim::min"},
    {"eq", 2, "aten::eq"},
    {"ne", 2, "aten::ne"},
    {"lt", 2, "aten::lt"},
    {"le", 2, "aten::le"},
    {"gt", 2, "aten::gt"},
    {"ge", 2, "aten::ge"},
    {"and", 2, "aten::__and__"},
    {"or", 2, "aten::__or__"},
    {"not", 1, "aten::__not__"},
    {"lshift", 2, "aten::__lshift__"},
    {"rshift", 2, "aten::__rshift__"},
    {"float", 1, "aten::Float"},
    {"trunc", 1, "aten::Int"},
    {"floor", 1, "aten::floor"},
    {"ceil", 1, "aten::ceil"},
    {"sqrt", 1, "aten::sqrt"},
    {"exp", 1, "aten::exp"},
    {"log", 1, "aten::log"},
    {"log2", 1, "aten::log2"},
    {"sin", 1, "aten::sin"},
    {"cos", 1, "aten::cos"},
    {"tan", 1, "aten::tan"},
    {"asin", 1, "aten::asin"},
    {"acos", 1, "aten::acos"},
    {"atan", 1, "aten::atan"},
    {"sinh", 1, "aten::sinh"},
    {"cosh", 1, "aten::cosh"},
    {"tanh", 1, "aten::tanh"},
};

}  // namespace

std::string type_list(ListRef<ir::Value*> values) {
  std::string out;
  for (const ir::Value* v : values) out += (out.empty() ? "" : ", ") + v->type()->to_string();
  return "(" + out + ")";
}

const char* find_number_call(std::string_view function, size_t arguments) {
  const auto* found = std::find_if(std::begin(kNumberCalls), std::end(kNumberCalls), [&](const NumberCall& c) {
    return c.function == function && c.arguments == arguments;
  });
  return found == std::end(kNumberCalls) ? nullptr : found->op;
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
  const char* op = find_number_call(function, inputs.size());
  SCONCE_ASSERT(op);
  // Whole numbers are what they are.
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
