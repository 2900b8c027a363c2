#include "sconce/frontend/script/calls/type_rules.h"

#include <fmt/format.h>

#include "sconce/frontend/script/calls/calls.h"
#include "sconce/types/tensor_facts.h"

namespace sconce::script {
namespace {

// The same kind of type over other parameters; null when it has none.
TypePtr rebuild(TypePtr type, const std::vector<TypePtr>& parts) {
  switch (type->kind()) {
    case TypeKind::list:
      return list_type(parts[0]);
    case TypeKind::optional:
      return optional_type(parts[0]);
    case TypeKind::dict:
      return dict_type(parts[0], parts[1]);
    case TypeKind::tuple:
      return type->fields().empty() ? tuple_type(parts) : named_tuple_type(type->name(), parts, type->fields());
    case TypeKind::union_:
      return union_type(parts);
    case TypeKind::future:
      return future_type(parts[0]);
    case TypeKind::rref:
      return rref_type(parts[0]);
    case TypeKind::await:
      return await_type(parts[0]);
    default:
      return nullptr;
  }
}

}  // namespace

TypePtr unshaped(TypePtr type) {
  if (type->is(TypeKind::tensor)) return tensor_type();
  if (type->contained().empty() || type->is(TypeKind::enum_)) return type;
  std::vector<TypePtr> parts;
  bool same = true;
  for (TypePtr part : type->contained()) {
    parts.push_back(unshaped(part));
    same &= parts.back() == part;
  }
  if (same) return type;
  const TypePtr made = rebuild(type, parts);
  return made ? made : type;
}

TypePtr without_none(TypePtr type) { return type->is(TypeKind::optional) ? type->element() : type; }

bool has_variables(TypePtr type) {
  if (type->is(TypeKind::variable)) return true;
  for (TypePtr part : type->contained()) {
    if (has_variables(part)) return true;
  }
  return false;
}

TypePtr TypeVariables::find(const std::string& name) const {
  for (const auto& [bound, type] : bound_) {
    if (bound == name) return type;
  }
  return nullptr;
}

bool TypeVariables::match(TypePtr formal, TypePtr actual, std::string& why) {
  if (!has_variables(formal)) return true;  // whether the types fit is seen when the value is converted
  const auto refuse_match = [&] {
    const std::string wanted = formal->is(TypeKind::future) ? "a future" : formal->annotation();
    why = fmt::format("Cannot match {} to {}", wanted, actual->annotation());
    return false;
  };
  switch (formal->kind()) {
    case TypeKind::variable: {
      const TypePtr before = find(formal->name());
      if (!before) {
        bound_.emplace_back(formal->name(), unshaped(actual));
        return true;
      }
      if (unify(before, actual)) return true;
      why = fmt::format("Type variable '{}' previously matched to type {} is matched to type {}", formal->name(),
                        before->annotation(), actual->annotation());
      return false;
    }
    case TypeKind::list:
      if (actual->is(TypeKind::list)) return match(formal->element(), actual->element(), why);
      if (actual->is(TypeKind::tuple) && !actual->contained().empty()) {
        TypePtr common = actual->contained()[0];
        for (TypePtr t : actual->contained()) {
          if (common) common = unify(common, t);
        }
        if (common) return match(formal->element(), common, why);
      }
      return refuse_match();
    case TypeKind::optional:
      if (actual->is(TypeKind::none)) return true;
      return match(formal->element(), without_none(actual), why);
    case TypeKind::tuple:
    case TypeKind::dict:
    case TypeKind::future:
    case TypeKind::rref:
    case TypeKind::await:
      if (actual->kind() != formal->kind() || actual->contained().size() != formal->contained().size()) {
        return refuse_match();
      }
      for (size_t i = 0; i < formal->contained().size(); ++i) {
        if (!match(formal->contained()[i], actual->contained()[i], why)) return false;
      }
      return true;
    default:
      return refuse_match();
  }
}

TypePtr TypeVariables::replace(TypePtr type) const {
  if (type->is(TypeKind::variable)) return find(type->name());
  if (!has_variables(type)) return type;
  std::vector<TypePtr> parts;
  for (TypePtr part : type->contained()) {
    parts.push_back(replace(part));
    if (!parts.back()) return nullptr;
  }
  return rebuild(type, parts);
}

bool converts_to_list(TypePtr type, TypePtr list) {
  if (!list->is(TypeKind::list)) return false;
  if (fits(type, list)) return true;
  if (!type->is(TypeKind::tuple)) return false;
  for (TypePtr t : type->contained()) {
    if (!fits(t, list->element())) return false;
  }
  return true;
}

TypePtr unify(TypePtr a, TypePtr b, bool default_to_union, TypePtr hint) {
  if (fits(a, b)) return b;
  if (fits(b, a)) return a;
  if (a->is(TypeKind::tensor) && b->is(TypeKind::tensor)) {
    if (!a->tensor_facts() || !b->tensor_facts()) return tensor_type();
    return refined_tensor_type(common_facts(*a->tensor_facts(), *b->tensor_facts()));
  }
  if (a->is(TypeKind::none)) return optional_type(b);
  if (b->is(TypeKind::none)) return optional_type(a);
  if (a->is(TypeKind::optional) || b->is(TypeKind::optional)) {
    if (const TypePtr common = unify(without_none(a), without_none(b))) return optional_type(common);
  }
  if (a->is(TypeKind::tuple) && b->is(TypeKind::tuple) && a->contained().size() == b->contained().size()) {
    std::vector<TypePtr> parts;
    for (size_t i = 0; i < a->contained().size(); ++i) {
      const TypePtr common = unify(a->contained()[i], b->contained()[i], default_to_union);
      if (!common) break;
      parts.push_back(common);
    }
    if (parts.size() == a->contained().size()) return tuple_type(parts);
  }
  if (a->is(TypeKind::future) && b->is(TypeKind::future)) {
    if (const TypePtr common = unify(a->element(), b->element())) return future_type(common);
  }
  const TypePtr plain_a = unshaped(a), plain_b = unshaped(b);
  if (fits(plain_a, plain_b)) return plain_b;
  if (fits(plain_b, plain_a)) return plain_a;
  if (hint && hint->is(TypeKind::union_) && fits(a, hint) && fits(b, hint)) return hint;
  if (default_to_union) return union_type({a, b});
  return nullptr;
}

}  // namespace sconce::script
