#include "sconce/ir/points_to.h"

#include <algorithm>

#include "sconce/ir/effects.h"

namespace sconce::ir {
namespace {

// Sets larger than this go outside as a whole, which keeps the analysis linear for long lists.
constexpr size_t kMaxSet = 64;

// The kinds of object that a value of a type can be, as bits.
enum : uint32_t { kTensor = 1, kList = 2, kDict = 4, kTuple = 8, kObject = 16, kOther = 32, kAll = 63 };

uint32_t mask_of(TypePtr type) {
  switch (type->kind()) {
    case TypeKind::tensor:
      return kTensor;
    case TypeKind::list:
    case TypeKind::any_list:
      return kList;
    case TypeKind::dict:
      return kDict;
    case TypeKind::tuple:
    case TypeKind::any_tuple:
      return kTuple;
    case TypeKind::class_:
    case TypeKind::interface:
    case TypeKind::any_class:
      return kObject;
    case TypeKind::any:
    case TypeKind::variable:
      return kAll;
    case TypeKind::optional:
    case TypeKind::union_: {
      uint32_t mask = 0;
      for (TypePtr t : type->contained()) mask |= mask_of(t);
      return mask;
    }
    default:
      return is_mutable(type) ? static_cast<uint32_t>(kOther) : 0;
  }
}

// The type without what does not tell places apart: Optional, facts of tensors, names of tuples.
TypePtr skeleton(TypePtr type) {
  switch (type->kind()) {
    case TypeKind::tensor:
      return tensor_type();
    case TypeKind::optional:
      return skeleton(type->element());
    case TypeKind::list:
      return list_type(skeleton(type->element()));
    case TypeKind::dict:
      return dict_type(skeleton(type->contained()[0]), skeleton(type->contained()[1]));
    default:
      return type;
  }
}

// Kinds of things that a value of this type can contain.
uint32_t contents_mask(TypePtr type) {
  if (mask_of(type) & (kObject | kOther)) return kAll;
  uint32_t mask = 0;
  for (TypePtr t : type->contained()) mask |= type->is(TypeKind::optional) ? contents_mask(t) : mask_of(t);
  return type->is(TypeKind::union_) ? static_cast<uint32_t>(kAll) : mask;
}

}  // namespace

Places::Places() {
  add_place(any_type(), true);
  places_[kAnything].contents.push_back(kAnything);
}

Places::Variable Places::add_variable(TypePtr type) {
  variables_.push_back({type, mask_of(type), {}, {}});
  return static_cast<Variable>(variables_.size() - 1);
}

Place Places::find(Place p) const {
  while (places_[p].same_as != p) p = places_[p].same_as;
  return p;
}

Place Places::add_place(TypePtr type, bool outside) {
  const Place p = static_cast<Place>(places_.size());
  places_.push_back({type, p, outside, {}});
  return p;
}

bool Places::insert(PlaceSet& set, Place p) {
  const auto at = std::lower_bound(set.begin(), set.end(), p);
  if (at != set.end() && *at == p) return false;
  set.insert(at, p);
  if (set.size() > kMaxSet) {
    const PlaceSet all = set;
    for (const Place each : all) let_out(each);
    normalise(set);
  }
  return true;
}

bool Places::insert_all(PlaceSet& set, const PlaceSet& others) {
  bool changed = false;
  for (const Place p : others) changed |= insert(set, find(p));
  return changed;
}

void Places::normalise(PlaceSet& set) const {
  for (Place& p : set) p = find(p);
  std::sort(set.begin(), set.end());
  set.erase(std::unique(set.begin(), set.end()), set.end());
}

PlaceSet Places::outside_of(TypePtr type) {
  switch (type->kind()) {
    case TypeKind::optional:
      return outside_of(type->element());
    case TypeKind::union_: {
      PlaceSet all;
      for (TypePtr t : type->contained()) {
        if (is_mutable(t)) insert_all(all, outside_of(t));
      }
      return all;
    }
    case TypeKind::tensor:
    case TypeKind::list:
    case TypeKind::dict:
    case TypeKind::tuple: {
      const TypePtr key = skeleton(type);
      if (const auto found = outside_.find(key); found != outside_.end()) return {found->second};
      const Place p = add_place(key, true);
      outside_.emplace(key, p);
      PlaceSet contents;
      for (TypePtr t : key->contained()) {
        if (is_mutable(t)) insert_all(contents, outside_of(t));
      }
      places_[p].contents = contents;
      return {p};
    }
    default:
      return {kAnything};
  }
}

void Places::let_out(Place p) {
  p = find(p);
  if (places_[p].outside) return;
  const PlaceSet out = outside_of(places_[p].type);
  places_[p].same_as = out.size() == 1 ? out[0] : kAnything;
  let_out_ = true;
  const PlaceSet contents = std::move(places_[p].contents);
  for (const Place inner : contents) let_out(inner);
}

void Places::add_inner(Place container, TypePtr type) {
  PlaceSet contents = places_[container].contents;
  for (TypePtr t : type->contained()) {
    if (!is_mutable(t)) continue;
    if (type->is(TypeKind::optional) || type->is(TypeKind::union_)) return add_inner(container, t);
    const Place inner = add_place(t, false);
    contents.push_back(inner);
    add_inner(inner, t);
  }
  places_[container].contents = std::move(contents);
}

void Places::add_new(Variable v) {
  add_new_container(v);
  add_inner(variables_[v].places.back(), variables_[v].type);
}

void Places::add_new_container(Variable v) { insert(variables_[v].places, add_place(variables_[v].type, false)); }

void Places::add_outside(Variable v) { insert_all(variables_[v].places, outside_of(variables_[v].type)); }
void Places::add_copy(Variable to, Variable from) { constraints_.push_back({Kind::copy, to, from}); }
void Places::add_store(Variable into, Variable v) { constraints_.push_back({Kind::store, into, v}); }
void Places::add_load(Variable to, Variable from) { constraints_.push_back({Kind::load, to, from}); }
void Places::add_reach(Variable to, Variable from) { constraints_.push_back({Kind::reach, to, from}); }
void Places::add_store_reach(Variable into, Variable from) { constraints_.push_back({Kind::store_reach, into, from}); }
void Places::add_escape(Variable v) { constraints_.push_back({Kind::escape, v, v}); }

PlaceSet Places::reach_of(const PlaceSet& from) const {
  PlaceSet all;
  PlaceSet open = from;
  while (!open.empty()) {
    const Place p = find(open.back());
    open.pop_back();
    const auto at = std::lower_bound(all.begin(), all.end(), p);
    if (at != all.end() && *at == p) continue;
    all.insert(at, p);
    for (const Place inner : places_[p].contents) open.push_back(inner);
  }
  return all;
}

// Of the places in `from`, those that a value of the type can point to. Outside places lead to the type's
// own place there.
PlaceSet Places::reached(const PlaceSet& from, TypePtr type, uint32_t mask) {
  PlaceSet out;
  for (const Place each : from) {
    const Place p = find(each);
    if (places_[p].outside) {
      insert_all(out, outside_of(type));
    } else if (mask_of(places_[p].type) & mask) {
      insert(out, p);
    }
  }
  return out;
}

PlaceSet Places::loaded(const PlaceSet& from, const VariableData& to) {
  PlaceSet contents;
  for (const Place p : from) {
    const PlaceData& place = places_[find(p)];
    if (place.outside) {
      insert(contents, kAnything);
    } else {
      insert_all(contents, place.contents);
    }
  }
  return reached(contents, to.type, to.mask);
}

bool Places::store(const PlaceSet& into, const PlaceSet& v) {
  bool changed = false;
  for (const Place container : into) {
    const Place c = find(container);
    if (places_[c].outside) {
      for (const Place p : v) let_out(p);
    } else {
      PlaceSet contents = places_[c].contents;
      if (insert_all(contents, v)) {
        places_[c].contents = std::move(contents);
        changed = true;
      }
    }
  }
  return changed;
}

bool Places::apply(const Constraint& c) {
  switch (c.kind) {
    case Kind::copy: {
      PlaceSet& to = variables_[c.a].places;
      return insert_all(to, reached(variables_[c.b].places, variables_[c.a].type, variables_[c.a].mask));
    }
    case Kind::store:
      return store(variables_[c.a].places, variables_[c.b].places);
    case Kind::load: {
      const PlaceSet found = loaded(variables_[c.b].places, variables_[c.a]);
      return insert_all(variables_[c.a].places, found);
    }
    case Kind::reach: {
      const PlaceSet found = reached(reach_of(variables_[c.b].places), variables_[c.a].type, variables_[c.a].mask);
      return insert_all(variables_[c.a].places, found);
    }
    case Kind::store_reach: {
      const PlaceSet all = reach_of(variables_[c.b].places);
      const uint32_t mask = contents_mask(variables_[c.a].type);
      PlaceSet fit;
      for (const Place p : all) {
        if (mask_of(places_[p].type) & mask) insert(fit, p);
      }
      return store(variables_[c.a].places, fit);
    }
    case Kind::escape: {
      const PlaceSet places = variables_[c.a].places;
      for (const Place p : places) let_out(p);
      return false;
    }
  }
  return false;
}

void Places::solve() {
  bool changed = true;
  while (changed) {
    changed = let_out_ = false;
    for (const Constraint& c : constraints_) changed |= apply(c);
    if (!let_out_) continue;
    changed = true;
    for (VariableData& v : variables_) normalise(v.places);
    for (PlaceData& p : places_) normalise(p.contents);
  }
  for (VariableData& v : variables_) {
    normalise(v.places);
    v.reach = reach_of(v.places);
  }
}

namespace {
bool have_common(const PlaceSet& a, const PlaceSet& b) {
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (a[i] == b[j]) return true;
    a[i] < b[j] ? ++i : ++j;
  }
  return false;
}
}  // namespace

bool Places::overlap(const PlaceSet& a, const PlaceSet& b) const {
  if (a.size() > b.size()) return overlap(b, a);
  if (a.size() * 8 < b.size()) {
    const auto is_in_b = [&](Place p) { return std::binary_search(b.begin(), b.end(), p); };
    if (std::any_of(a.begin(), a.end(), is_in_b)) return true;
  } else if (have_common(a, b)) {
    return true;
  }
  const auto is_out = [&](Place p) { return places_[p].outside; };
  const bool a_any = !a.empty() && a[0] == kAnything, b_any = !b.empty() && b[0] == kAnything;
  return (a_any && std::any_of(b.begin(), b.end(), is_out)) || (b_any && std::any_of(a.begin(), a.end(), is_out));
}

}  // namespace sconce::ir
