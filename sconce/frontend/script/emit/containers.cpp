// [a, b], {k: v}, (a, b): displays, and the types that annotations and unions give them.
#include "sconce/frontend/script/calls/type_rules.h"
#include "sconce/frontend/script/emit/emitter_impl.h"

namespace sconce::script {

using namespace syntax;

namespace {

// Optional[T] is a union, too. A literal for one has its type at once, but not in archives, which spell out all casts.
bool is_union(TypePtr type) { return type->is(TypeKind::union_) || type->is(TypeKind::optional); }

// The members of a union (or the one type) that are of this kind.
std::vector<TypePtr> candidates(TypePtr hint, TypeKind kind) {
  std::vector<TypePtr> out;
  if (hint->is(kind)) return {hint};
  if (hint->is(TypeKind::union_) || hint->is(TypeKind::optional)) {
    for (TypePtr t : hint->contained()) {
      if (t->is(kind)) out.push_back(t);
    }
  }
  return out;
}

TypePtr unify_all(const std::vector<ir::Value*>& values, TypePtr hint = nullptr) {
  TypePtr type = nullptr;
  for (const ir::Value* v : values) {
    if (!type) {
      type = v->type();
      continue;
    }
    type = unify(type, v->type(), true, hint);
    if (!type) return nullptr;
  }
  return type ? unshaped(type) : nullptr;
}

}  // namespace

ir::Value* Emitter::Impl::list(const ListExpr& l, TypePtr hint) {
  const Range& at = l.range;
  if (hint && hint->is(TypeKind::any)) hint = nullptr;
  const TypePtr union_hint = hint && is_union(hint) ? hint : nullptr;
  TypePtr type = nullptr;
  std::vector<TypePtr> options;
  if (hint) {
    options = candidates(hint, TypeKind::list);
    if (options.empty()) {
      if (union_hint) {
        refuse(at, "Expected an Union type annotation with an inner List type, but got {}", hint->annotation());
      }
      refuse(at, "Expected an annotation of type List but got {}", hint->annotation());
    }
    if (options.size() == 1) type = options[0];
  }
  if (l.items.empty()) {
    if (!hint) return node(at, ir::kind::EmptyListLiteral, {}, {list_type(tensor_type())})->output();
    if (!type) {
      refuse(
          at,
          "Cannot assign an empty list to a variable annotated to be type {} because there are multiple possible List "
          "type candidates in the Union annotation",
          hint->annotation());
    }
  }
  std::vector<TypePtr> hints;
  if (type) hints.push_back(type->element());
  std::vector<ir::Value*> items = values(l.items, hints);
  TypePtr element = type ? type->element() : nullptr;
  if (!items.empty()) {
    if (type) {
      for (ir::Value*& v : items) v = convert(e, at, v, element, true);
    }
    const TypePtr unified = unify_all(items, element);
    if (!unified) refuse(at, "Could not unify the types of the list elements");
    if (type) {
      for (const ir::Value* v : items) {
        if (!fits(v->type(), element)) {
          refuse(
              at,
              "List type annotation `{}` did not match the types of the given list elements, which were unified to {}",
              type->annotation(), unified->annotation());
        }
      }
    } else if (!options.empty()) {
      for (TypePtr t : options) {
        if (fits(unified, t->element())) {
          element = t->element();
          break;
        }
      }
      if (!element) {
        refuse(
            at,
            "Union type annotation `{}` can hold List types, but none of those types match the types of the given list "
            "elements, which were unified to {}",
            hint->annotation(), unified->annotation());
      }
    } else {
      element = unified;
    }
  }
  ir::Value* v = e.list(at, element, items);
  return union_hint && !e.source_.from_archive ? unchecked_cast(at, v, union_hint) : v;
}

ir::Value* Emitter::Impl::dict(const DictExpr& d, TypePtr hint) {
  const Range& at = d.range;
  if (hint && hint->is(TypeKind::any)) hint = nullptr;
  const TypePtr union_hint = hint && is_union(hint) ? hint : nullptr;
  TypePtr type = nullptr;
  std::vector<TypePtr> options;
  if (hint) {
    options = candidates(hint, TypeKind::dict);
    if (options.empty()) {
      if (union_hint) {
        refuse(at, "Expected an Union type annotation with an inner Dict type, but got {}", hint->annotation());
      }
      refuse(at, "Expected an annotation of type Dict but got {}", hint->annotation());
    }
    if (options.size() == 1) type = options[0];
  }
  std::vector<ir::Value*> keys, items;
  for (size_t i = 0; i < d.keys.size(); ++i) {
    keys.push_back(e.value(d.keys[i], type ? type->contained()[0] : nullptr));
    items.push_back(e.value(d.values[i], type ? type->contained()[1] : nullptr));
  }
  if (d.keys.empty() && !type) {
    if (union_hint) {
      refuse(
          at,
          "Cannot assign an empty dict to a variable annotated to be type {} because there are multiple possible Dict "
          "type candidates in the Union annotation",
          hint->annotation());
    }
    type = dict_type(string_type(), tensor_type());
  }
  if (!d.keys.empty()) {
    const TypePtr key = type ? type->contained()[0] : unshaped(keys[0]->type());
    for (size_t i = 0; i < keys.size(); ++i) {
      if (type) keys[i] = convert(e, at, keys[i], key, true);
      if (!fits(keys[i]->type(), key)) {
        if (type) {
          refuse(join(d.keys[0]->range, d.values.back()->range),
                 "Type annotation was inferred to be {}but the type of keys given by the dict literal is {}",
                 type->annotation(), keys[i]->type()->annotation());
        }
        refuse(d.keys[i]->range, "Dict keys must contain only a single type. Expected: {} but found {} instead",
               key->annotation(), keys[i]->type()->annotation());
      }
    }
    if (type) {
      for (ir::Value*& v : items) v = convert(e, at, v, type->contained()[1], true);
    }
    TypePtr value = unify_all(items, type ? type->contained()[1] : nullptr);
    if (!value) refuse(at, "Could not unify the types of the dict values");
    if (type) {
      for (size_t i = 0; i < items.size(); ++i) {
        if (!fits(items[i]->type(), type->contained()[1])) {
          if (!union_hint) {
            refuse(join(d.keys[0]->range, d.values.back()->range),
                   "Type annotation was inferred to be `{}`, but the type of values given by the dict literal is {}",
                   type->annotation(), items[i]->type()->annotation());
          }
          refuse(at, "Dict type annotation `{}` did not match the type of an actual value type `{}`",
                 type->annotation(), items[i]->type()->annotation());
        }
      }
    } else if (!options.empty()) {
      for (TypePtr t : options) {
        if (!type && fits(key, t->contained()[0]) && fits(value, t->contained()[1])) type = t;
      }
      if (!type) {
        refuse(
            at,
            "Union type annotation `{}` can hold Dict types, but none of those types match the types of the given dict "
            "elements, which were unified to Dict[{}, {}]",
            hint->annotation(), key->annotation(), value->annotation());
      }
    } else {
      type = dict_type(key, value);
    }
  }
  std::vector<ir::Value*> inputs;
  for (size_t i = 0; i < keys.size(); ++i) {
    inputs.push_back(keys[i]);
    inputs.push_back(items[i]);
  }
  ir::Value* v = node(at, ir::kind::DictConstruct, inputs, {type})->output();
  return union_hint && !e.source_.from_archive ? unchecked_cast(at, v, union_hint) : v;
}

ir::Value* Emitter::Impl::tuple(const TupleExpr& t, TypePtr hint) {
  if (hint && hint->is(TypeKind::optional)) hint = hint->element();
  std::vector<TypePtr> hints;
  bool starred = false;
  for (ExprPtr item : t.items) starred |= item->kind == ExprKind::starred;
  if (hint && hint->is(TypeKind::tuple) && hint->contained().size() == t.items.size() && !starred) {
    hints = hint->contained().vec();
  }
  if (hints.size() == 1 && t.items.size() != 1) hints.clear();
  return e.tuple(t.range, values(t.items, hints));
}

}  // namespace sconce::script
