// list(x), tuple(x), dict(x): containers made of any iterable.
#include "sconce/frontend/script/calls/calls.h"
#include "sconce/frontend/script/calls/type_rules.h"
#include "sconce/frontend/script/emit/emitter.h"
#include "sconce/frontend/script/names/language_values.h"

namespace sconce::script {
namespace {

// for item in iterable: visit(item), as straight code when the length is known, else as a loop.
template <class Visit>
void for_each_item(Emitter& e, const Range& at, const SugaredPtr& iterable, Visit visit) {
  if (const std::optional<size_t> n = iterable->static_length()) {
    for (size_t i = 0; i < *n; ++i) {
      visit(iterable->item(e, at, e.constant(at, sconce::Value(static_cast<int64_t>(i))), nullptr));
    }
    return;
  }
  ir::Value* length = iterable->length(e, at);
  ir::Value* yes = e.constant(at, sconce::Value(true));
  ir::Node* loop = e.node(at, ir::kind::Loop, {length, yes}, {});
  ir::Block* body = loop->add_block();
  ir::Value* trip = body->add_input(int_type());
  const ir::InsertPoint inside(e.graph(), body);
  visit(iterable->item(e, at, trip, nullptr));
  body->add_output(yes);
}

// The one Dict among the members of a Union that the context expects.
TypePtr dict_of_hint(const Range& at, TypePtr hint) {
  if (!hint) return nullptr;
  if (hint->is(TypeKind::optional)) hint = hint->element();
  if (hint->is(TypeKind::dict)) return hint;
  if (!hint->is(TypeKind::union_)) return nullptr;
  TypePtr found = nullptr;
  for (TypePtr member : hint->contained()) {
    if (!member->is(TypeKind::dict)) continue;
    if (found) {
      refuse(at,
             "There are multiple candidate Dict types in the Union type annotation `{}`, and full type inference is "
             "not yet "
             "supported for the `dict()` constructor.",
             hint->annotation());
    }
    found = member;
  }
  if (!found) refuse(at, "Expected an Union type annotation with an inner Dict type, but got {}", hint->annotation());
  return found;
}

// Sets pairs (key, value) into `dict`, whose type the first pair decides when it is not known.
void add_pairs(Emitter& e, const Range& at, ir::Value* dict, TypePtr hint, const SugaredPtr& iterable) {
  bool typed = hint != nullptr;
  for_each_item(e, at, iterable, [&](const SugaredPtr& item) {
    const std::vector<SugaredPtr> pair = item->unpack(e, at, 2);
    if (pair.size() != 2) refuse(at, "dict() expects pairs of a key and a value, found {} items", pair.size());
    ir::Value* key = pair[0]->as_value(e, at);
    ir::Value* value = pair[1]->as_value(e, at);
    if (!typed) dict->set_type(dict_type(unshaped(key->type()), unshaped(value->type())));
    typed = true;
    call_op(e, at, "aten::_set_item", {dict, key, value});
  });
}

}  // namespace

SugaredPtr call_list(Emitter& e, const Range& at, const CallArguments& args, TypePtr hint) {
  if (!args.keywords.empty()) refuse(at, "list() takes no keyword arguments");
  if (args.positional.size() > 1) refuse(at, "list expected at most 1 arguments, got {}", args.positional.size());
  const TypePtr wanted = hint && without_none(hint)->is(TypeKind::list) ? without_none(hint)->element() : nullptr;
  if (args.positional.empty()) return simple(e.list(at, wanted ? wanted : tensor_type(), {}));
  const SugaredPtr& x = args.positional[0].value;
  const TypePtr type = x->type();
  if (type && (type->is(TypeKind::list) || type->is(TypeKind::string)))
    return call_builtin(e, at, ir::Symbol("aten::list"), args);

  ir::Value* list = e.list(at, wanted ? wanted : tensor_type(), {});
  const SugaredPtr iterable = x->iterate(e, at);
  bool typed = wanted != nullptr;
  for_each_item(e, at, iterable, [&](const SugaredPtr& item) {
    ir::Value* v = item->as_value(e, at);
    if (!typed) list->set_type(list_type(unshaped(v->type())));
    typed = true;
    call_op(e, at, "aten::append", {list, v});
  });
  return simple(list);
}

SugaredPtr call_tuple(Emitter& e, const Range& at, const CallArguments& args, TypePtr) {
  if (!args.keywords.empty()) refuse(at, "tuple() takes no keyword arguments");
  if (args.positional.size() > 1) refuse(at, "tuple expected at most 1 arguments, got {}", args.positional.size());
  std::vector<ir::Value*> items;
  if (!args.positional.empty()) {
    for (const SugaredPtr& item : args.positional[0].value->unpack(e, at, {})) items.push_back(item->as_value(e, at));
  }
  return simple(e.tuple(at, items));
}

SugaredPtr call_dict(Emitter& e, const Range& at, const CallArguments& args, TypePtr given_hint) {
  if (args.positional.size() > 1) refuse(at, "dict expected at most 1 arguments, got {}", args.positional.size());
  const TypePtr hint = dict_of_hint(at, given_hint);
  ir::Value* dict = nullptr;
  const auto new_dict = [&](TypePtr type) {
    return e.node(at, ir::kind::DictConstruct, {}, {type ? type : dict_type(string_type(), tensor_type())})->output();
  };
  if (!args.positional.empty()) {
    const SugaredPtr& x = args.positional[0].value;
    if (x->type() && x->type()->is(TypeKind::dict)) {
      dict = call_op(e, at, "aten::dict", {x->as_value(e, at)});
    } else {
      const SugaredPtr iterable = x->iterate(e, at);
      dict = new_dict(hint);
      const bool nothing = x->type() && x->as_value(e, at)->node()->is(ir::kind::EmptyListLiteral);
      if (!nothing) add_pairs(e, at, dict, hint, iterable);
    }
  }
  if (args.keywords.empty()) return simple(dict ? dict : new_dict(hint));
  if (dict) {
    for (const CallArgument& a : args.keywords) {
      call_op(e, at, "aten::_set_item", {dict, e.constant(a.at, sconce::Value(a.name)), a.value->as_value(e, a.at)});
    }
    return simple(dict);
  }

  // dict(a=1, b=2): a list of pairs, set one after the other.
  std::vector<ir::Value*> pairs;
  TypePtr pair_type = nullptr;
  for (const CallArgument& a : args.keywords) {
    ir::Value* key = e.constant(a.at, sconce::Value(a.name));
    pairs.push_back(e.tuple(at, {key, a.value->as_value(e, a.at)}));
    const TypePtr type = unshaped(pairs.back()->type());
    pair_type = pair_type ? unify(pair_type, type) : type;
    if (!pair_type)
      refuse(at, "the values of dict() have different types: {} does not go with the others", type->annotation());
  }
  ir::Value* list = e.list(at, pair_type, pairs);
  dict = new_dict(hint);
  add_pairs(e, at, dict, hint, simple(list));
  return simple(dict);
}

}  // namespace sconce::script
