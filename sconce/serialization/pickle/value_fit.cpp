#include "sconce/serialization/pickle/value_fit.h"

#include <algorithm>

#include "sconce/runtime/value_types.h"
#include "sconce/serialization/pickle/special_tensors.h"

namespace sconce {
namespace {

[[noreturn]] void misfit(const Value& v, TypePtr type) {
  if (is_special_tensor(v)) fail("a {} is not supported", describe_special_tensor(v));
  fail("a value of type {} stands where {} belongs", v.is_tuple() ? "Tuple" : v.type()->annotation(),
       type->annotation());
}

// For types that a value has by itself, without looking inside. A tensor that is not supported fits Any alone.
bool has_simple_type(const Value& v, TypePtr type) {
  return type->is(TypeKind::any) || (v.tag() != Tag::capsule && runtime::is_instance(v, type));
}

bool is_same_value(const Value& a, const Value& b) { return a.tag() == b.tag() && a.bits() == b.bits(); }

}  // namespace

Value ValueFitter::fit(const Value& v, TypePtr declared) {
  const TypePtr type = plain_type(declared);
  switch (type->kind()) {
    case TypeKind::optional:
      return v.is_none() ? v : fit(v, type->element());
    case TypeKind::union_:
      for (TypePtr member : type->contained()) {
        try {
          return fit(v, member);
        } catch (const Error&) {
          // another member may fit
        }
      }
      misfit(v, type);
    case TypeKind::list:
      return fit_list(v, type);
    case TypeKind::dict:
      return fit_dict(v, type);
    case TypeKind::tuple:
      return fit_tuple(v, type);
    default:
      if (!has_simple_type(v, type)) misfit(v, type);
      return v;
  }
}

// Lists of numbers and tensors hold nothing else; lists whose type was set hold values that were checked then.
Value ValueFitter::fit_list(const Value& v, TypePtr type) {
  if (!v.is_list()) misfit(v, type);
  const List& list = v.to_list();
  if (list.element_type() == type->element() && (!list.is_tensors() || list.empty())) return v;
  Ref<List> result = make_ref<List>(type->element());
  result->reserve(list.size());
  for (size_t i = 0; i < list.size(); ++i) result->append(fit(list.get(i), type->element()));
  return list.element_type() == type->element() ? v : Value(std::move(result));
}

Value ValueFitter::fit_dict(const Value& v, TypePtr type) {
  if (!v.is_dict()) misfit(v, type);
  const Dict& dict = v.to_dict();
  const TypePtr key_type = type->contained()[0], value_type = type->contained()[1];
  if (dict.key_type() == key_type && dict.value_type() == value_type) return v;
  Ref<Dict> result = make_ref<Dict>(key_type, value_type);
  dict.for_each([&](const Value& key, const Value& item) { result->set(fit(key, key_type), fit(item, value_type)); });
  return result;
}

Value ValueFitter::fit_tuple(const Value& v, TypePtr type) {
  if (!v.is_tuple() || is_special_tensor(v)) misfit(v, type);
  if (known_.contains({v.counted(), type})) return v;
  const Tuple& tuple = v.to_tuple();
  SCONCE_CHECK(tuple.items.size() == type->contained().size(), "a tuple has {} items where {} has {}",
               tuple.items.size(), type->annotation(), type->contained().size());
  std::vector<Value> items;
  items.reserve(tuple.items.size());
  const TypePtr named = type->fields().empty() ? nullptr : type;
  bool changed = tuple.named_type != named;
  for (size_t i = 0; i < tuple.items.size(); ++i) {
    items.push_back(fit(tuple.items[i], type->contained()[i]));
    changed |= !is_same_value(items.back(), tuple.items[i]);
  }
  Value result = changed ? Value(make_ref<Tuple>(std::move(items), named)) : v;
  known_.insert({result.counted(), type});
  held_.push_back(result);
  return result;
}

}  // namespace sconce
