#include "sconce/ir/resolve.h"

#include "sconce/dispatch/registry.h"
#include "sconce/ir/graph.h"
#include "sconce/types/tensor_facts.h"

namespace sconce::ir {
namespace {

// The bindings of type variables in one call; schemas have few of them.
using Bindings = std::vector<std::pair<TypePtr, TypePtr>>;

TypePtr* find_binding(Bindings& bindings, TypePtr variable) {
  for (auto& [name, type] : bindings) {
    if (name == variable) return &type;
  }
  return nullptr;
}

// Facts of a tensor do not make another type of a list's elements.
TypePtr without_facts(TypePtr type) { return type->is(TypeKind::tensor) ? tensor_type() : type; }

bool fits(TypePtr formal, TypePtr actual, Bindings& bindings, bool& exact);

// Parameters of lists and dicts: the same type, not a subtype.
bool fits_inside(TypePtr formal, TypePtr actual, Bindings& bindings, bool& exact) {
  if (formal->contained().empty() && !formal->is(TypeKind::variable)) {
    return formal->is(TypeKind::any) || plain_type(formal) == without_facts(actual) ||
           (formal->is(TypeKind::number) && is_subtype(actual, formal));
  }
  // Tensor?[] takes Tensor[].
  if (formal->is(TypeKind::optional) && !actual->is(TypeKind::optional)) exact = false;
  return fits(formal, actual, bindings, exact);
}

bool fits(TypePtr formal, TypePtr actual, Bindings& bindings, bool& exact) {
  switch (formal->kind()) {
    case TypeKind::variable: {
      if (TypePtr* bound = find_binding(bindings, formal)) {
        if (is_subtype(actual, *bound)) return true;
        if (!is_subtype(*bound, actual)) return false;
        *bound = actual;
        return true;
      }
      bindings.emplace_back(formal, actual);
      return true;
    }
    case TypeKind::optional:
      if (actual->is(TypeKind::none)) {
        return true;
      } else if (actual->is(TypeKind::optional)) {
        return fits(formal->element(), actual->element(), bindings, exact);
      }
      exact = false;
      return fits(formal->element(), actual, bindings, exact);
    case TypeKind::list:
    case TypeKind::dict:
    case TypeKind::future:
    case TypeKind::rref:
    case TypeKind::await: {
      if (actual->kind() != formal->kind()) return false;
      for (size_t i = 0; i < formal->contained().size(); ++i) {
        if (!fits_inside(formal->contained()[i], actual->contained()[i], bindings, exact)) return false;
      }
      return true;
    }
    case TypeKind::tuple: {
      if (!actual->is(TypeKind::tuple) || actual->contained().size() != formal->contained().size()) return false;
      for (size_t i = 0; i < formal->contained().size(); ++i) {
        if (!fits(formal->contained()[i], actual->contained()[i], bindings, exact)) return false;
      }
      return true;
    }
    default: {
      const TypePtr plain = plain_type(formal);
      if (plain == without_facts(actual)) return true;
      exact = false;
      // A bool is a number where nothing else takes it.
      return is_subtype(actual, plain) || (plain->is(TypeKind::number) && actual->is(TypeKind::bool_));
    }
  }
}

// The type with variables replaced; unbound ones become Any.
TypePtr substitute(TypePtr type, Bindings& bindings) {
  switch (type->kind()) {
    case TypeKind::variable: {
      const TypePtr* bound = find_binding(bindings, type);
      return bound ? *bound : any_type();
    }
    case TypeKind::list:
      return list_type(substitute(type->element(), bindings));
    case TypeKind::optional:
      return optional_type(substitute(type->element(), bindings));
    case TypeKind::future:
      return future_type(substitute(type->element(), bindings));
    case TypeKind::rref:
      return rref_type(substitute(type->element(), bindings));
    case TypeKind::await:
      return await_type(substitute(type->element(), bindings));
    case TypeKind::dict:
      return dict_type(substitute(type->contained()[0], bindings), substitute(type->contained()[1], bindings));
    case TypeKind::tuple: {
      if (!type->fields().empty()) return type;
      std::vector<TypePtr> elements;
      for (TypePtr t : type->contained()) elements.push_back(substitute(t, bindings));
      return tuple_type(elements);
    }
    default:
      return plain_type(type);
  }
}

}  // namespace

std::optional<std::vector<TypePtr>> match_types(const Schema& schema, ListRef<TypePtr> inputs, size_t* exact) {
  const size_t wanted = schema.arguments.size();
  if (inputs.size() < wanted || (inputs.size() > wanted && !schema.is_vararg)) return std::nullopt;
  Bindings bindings;
  size_t exact_inputs = 0;
  for (size_t i = 0; i < wanted; ++i) {
    bool is_exact = true;
    if (!fits(schema.arguments[i].type, inputs[i], bindings, is_exact)) return std::nullopt;
    exact_inputs += is_exact;
  }
  if (exact) *exact = exact_inputs;
  std::vector<TypePtr> returns;
  for (const Argument& r : schema.returns) returns.push_back(substitute(r.type, bindings));
  return returns;
}

ResolvedOp resolve_types(Symbol kind, ListRef<TypePtr> inputs) {
  ResolvedOp best;
  size_t best_exact = 0;
  for (const Op* op : find_overloads(kind.text())) {
    size_t exact = 0;
    std::optional<std::vector<TypePtr>> returns = match_types(op->schema(), inputs, &exact);
    if (!returns || (best.op && exact <= best_exact)) continue;
    best = {op, std::move(*returns)};
    best_exact = exact;
  }
  return best;
}

const Op* resolve_op(Symbol kind, ListRef<TypePtr> inputs) { return resolve_types(kind, inputs).op; }

const Op* resolve_op(const Node& node) {
  std::vector<TypePtr> types;
  for (const Value* v : node.inputs()) types.push_back(v->type());
  return resolve_op(node.kind(), types);
}

}  // namespace sconce::ir
