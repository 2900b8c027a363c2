// Comprehensions: an empty container, and a loop that fills it. Their variables are seen nowhere else.
#include "sconce/frontend/script/calls/type_rules.h"
#include "sconce/frontend/script/emit/emitter_impl.h"

namespace sconce::script {

using namespace syntax;

//   [item for target in iterable]   =>   list = []; for target in iterable: list.append(item)
ir::Value* Emitter::Impl::list_comprehension(const ListComp& c, TypePtr hint) {
  if (c.condition) refuse(c.if_range, "Comprehension ifs are not supported yet");
  const Range& at = c.range;
  TypePtr list = nullptr;
  const TypePtr union_hint = hint && hint->is(TypeKind::union_) ? hint : nullptr;
  if (hint && hint->is(TypeKind::optional)) hint = hint->element();
  if (hint && hint->is(TypeKind::list)) {
    list = hint;
  } else if (hint && !union_hint && !hint->is(TypeKind::any)) {
    refuse(at, "Expected list type annotation for list comprehension, found {}", hint->annotation());
  }
  ir::Value* result = node(at, ir::kind::ListConstruct, {}, {list ? list : list_type(tensor_type())})->output();
  const SugaredPtr iterable = sugared(c.iter, nullptr)->iterate(e, at);
  push(current(), Environment::Kind::scope);
  for_loop(at, c.target, iterable, [&] {
    ir::Value* v = e.value(c.item, list ? list->element() : nullptr);
    if (!list) {
      list = list_type(unshaped(v->type()));
      result->set_type(list);
    }
    call_op(e, at, "aten::append", {result, v});
  });
  pop();
  if (union_hint && !fits(result->type(), union_hint)) {
    refuse(at, "Union type annotation `{}` can hold no list comprehension of type {}", union_hint->annotation(),
           result->type()->annotation());
  }
  return result;
}

//   {key: value for target in iterable}   =>   dict = {}; for target in iterable: dict[key] = value
ir::Value* Emitter::Impl::dict_comprehension(const DictComp& c, TypePtr hint) {
  if (c.condition) refuse(c.if_range, "Comprehension ifs are not supported yet");
  const Range& at = c.range;
  TypePtr dict = nullptr;
  if (hint && hint->is(TypeKind::optional)) hint = hint->element();
  const TypePtr union_hint = hint && hint->is(TypeKind::union_) ? hint : nullptr;
  if (hint && hint->is(TypeKind::dict)) {
    dict = hint;
  } else if (hint && !union_hint && !hint->is(TypeKind::any)) {
    refuse(at, "Expected Dict type annotation for dict comprehension, found {}", hint->annotation());
  }
  ir::Value* result =
      node(at, ir::kind::DictConstruct, {}, {dict ? dict : dict_type(string_type(), tensor_type())})->output();
  const SugaredPtr iterable = sugared(c.iter, nullptr)->iterate(e, at);
  push(current(), Environment::Kind::scope);
  for_loop(at, c.target, iterable, [&] {
    ir::Value* key = e.value(c.key, dict ? dict->contained()[0] : nullptr);
    ir::Value* value = e.value(c.value, dict ? dict->contained()[1] : nullptr);
    if (!dict) {
      dict = dict_type(unshaped(key->type()), unshaped(value->type()));
      result->set_type(dict);
    }
    call_op(e, at, "aten::_set_item", {result, key, value});
  });
  pop();
  return result;
}

}  // namespace sconce::script
