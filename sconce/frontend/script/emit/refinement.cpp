#include "sconce/frontend/script/emit/refinement.h"

#include <algorithm>

#include "sconce/frontend/script/calls/calls.h"

namespace sconce::script {

namespace {

const Refinement* find(const std::vector<Refinement>& list, const std::string& name) {
  const auto it = std::find_if(list.begin(), list.end(), [&](const Refinement& r) { return r.variable == name; });
  return it == list.end() ? nullptr : &*it;
}

// A variable that both refine differently is left alone.
std::vector<Refinement> all_of(const std::vector<Refinement>& a, const std::vector<Refinement>& b) {
  std::vector<Refinement> out;
  for (const Refinement& r : a) {
    const Refinement* other = find(b, r.variable);
    if (!other || other->type == r.type) out.push_back(r);
    // The right operand saw the refinements of the left one: the narrower type holds.
    else if (is_subtype(other->type, r.type))
      out.push_back(*other);
  }
  for (const Refinement& r : b) {
    if (!find(a, r.variable)) out.push_back(r);
  }
  return out;
}

std::vector<Refinement> common(const std::vector<Refinement>& a, const std::vector<Refinement>& b) {
  std::vector<Refinement> out;
  for (const Refinement& r : a) {
    const Refinement* other = find(b, r.variable);
    if (other && other->type == r.type) out.push_back(r);
  }
  return out;
}

bool is_a(TypePtr type, TypePtr wanted) {
  switch (wanted->kind()) {
    case TypeKind::any_list:
      return type->is(TypeKind::list) || type->is(TypeKind::any_list);
    case TypeKind::any_tuple:
      return type->is(TypeKind::tuple) || type->is(TypeKind::any_tuple);
    case TypeKind::any_class:
      return type->is(TypeKind::class_);
    default:
      return fits(type, wanted);
  }
}

TypePtr union_of(const std::vector<TypePtr>& types) { return types.empty() ? nullptr : union_type(types); }

}  // namespace

Refinements Refinements::both(const Refinements& a, const Refinements& b) {
  return {all_of(a.when_true, b.when_true), common(a.when_false, b.when_false)};
}
Refinements Refinements::either(const Refinements& a, const Refinements& b) {
  return {common(a.when_true, b.when_true), all_of(a.when_false, b.when_false)};
}

Noneness noneness(TypePtr type) {
  switch (type->kind()) {
    case TypeKind::none:
      return Noneness::always;
    case TypeKind::optional:
    case TypeKind::any:
      return Noneness::maybe;
    case TypeKind::union_: {
      const auto members = type->contained();
      return std::any_of(members.begin(), members.end(), [](TypePtr t) { return t->is(TypeKind::none); })
                 ? Noneness::maybe
                 : Noneness::never;
    }
    default:
      return Noneness::never;
  }
}

TypePtr not_none(TypePtr type) {
  if (type->is(TypeKind::optional)) return type->element();
  if (!type->is(TypeKind::union_)) return type;
  std::vector<TypePtr> rest;
  for (TypePtr t : type->contained()) {
    if (!t->is(TypeKind::none)) rest.push_back(t);
  }
  return union_type(rest);
}

std::vector<TypePtr> flat_types(const std::vector<TypePtr>& types) {
  std::vector<TypePtr> flat;
  const auto add = [&](TypePtr t) {
    if (std::find(flat.begin(), flat.end(), t) == flat.end()) flat.push_back(t);
  };
  for (TypePtr t : types) {
    if (t->is(TypeKind::union_)) {
      for (TypePtr m : t->contained()) add(m);
    } else if (t->is(TypeKind::optional)) {
      add(t->element());
      add(none_type());
    } else {
      add(t);
    }
  }
  if (flat.size() < 2) return flat;
  // The order in which a union prints its members; members that it would swallow stay behind.
  const TypePtr whole = union_type(flat);
  if (!whole->is(TypeKind::union_) || whole->contained().size() != flat.size()) return flat;
  return whole->contained().vec();
}

InstanceCheck check_instance(TypePtr type, const std::vector<TypePtr>& candidates) {
  const std::vector<TypePtr> wanted = flat_types(candidates);
  std::vector<TypePtr> yes, no;
  bool always = true;
  for (TypePtr t : flat_types({type})) {
    if (t->is(TypeKind::any)) {
      yes = wanted;
      no = {t};
      always = wanted.size() == 1 && wanted[0]->is(TypeKind::any);
      break;
    }
    TypePtr found = nullptr;
    for (TypePtr w : wanted) {
      if (is_a(t, w)) {
        found = t;
      } else if (is_a(w, t)) {
        found = w;
      }
      if (found) break;
    }
    if (found) yes.push_back(found);
    // A wider type may still be something else.
    if (found != t) {
      no.push_back(t);
      always = false;
    }
  }
  InstanceCheck result{union_of(yes), union_of(no), std::nullopt};
  if (always) result.known = true;
  if (yes.empty()) result.known = false;
  return result;
}

}  // namespace sconce::script
