// Dicts as TorchScript programs use them, in insertion order.
#include "sconce/dispatch/registry.h"
#include "sconce/generated/container_kernels.h"
#include "sconce/types/script_text.h"

namespace sconce::boxed {
namespace {

const Value& at(const Dict& dict, const Value& key) {
  const Value* found = dict.find(key);
  SCONCE_CHECK_AS(key, found, "{}", script_text(key));
  return *found;
}

Value pair_of(const Value& key, const Value& value) { return make_ref<Tuple>(std::vector<Value>{key, value}); }

}  // namespace

void dict_empty(const Op&, KeySet, Value*, Value* returns) {
  returns[0] = make_ref<Dict>(string_type(), tensor_type());
}

void dict_from_pairs(const Op& op, KeySet, Value* args, Value* returns) {
  const List& pairs = args[0].to_list();
  // An empty list may not know its tuples; the schema knows the keys.
  TypePtr key = op.schema().returns[0].type->contained()[0], value = any_type();
  if (pairs.element_type()->is(TypeKind::tuple)) value = pairs.element_type()->contained()[1];
  auto out = make_ref<Dict>(key, value);
  for (size_t i = 0; i < pairs.size(); ++i) {
    const Value pair = pairs.get(i);
    const Tuple& t = pair.to_tuple();
    SCONCE_CHECK_AS(value, t.items.size() == 2, "dict needs pairs, got a tuple of {}", t.items.size());
    out->set(t.items[0], t.items[1]);
  }
  returns[0] = std::move(out);
}

void dict_copy(const Op&, KeySet, Value* args, Value* returns) { returns[0] = args[0].to_dict().copy(); }
void dict_len(const Op&, KeySet, Value* args, Value* returns) {
  returns[0] = static_cast<int64_t>(args[0].to_dict().size());
}
void dict_get_item(const Op&, KeySet, Value* args, Value* returns) { returns[0] = at(args[0].to_dict(), args[1]); }
void dict_contains(const Op&, KeySet, Value* args, Value* returns) {
  returns[0] = args[0].to_dict().find(args[1]) != nullptr;
}
void dict_set_item(const Op&, KeySet, Value* args, Value*) {
  args[0].to_dict().set(std::move(args[1]), std::move(args[2]));
}

void dict_keys(const Op&, KeySet, Value* args, Value* returns) {
  const Dict& dict = args[0].to_dict();
  auto out = make_ref<List>(dict.key_type());
  dict.for_each([&](const Value& key, const Value&) { out->append(key); });
  returns[0] = std::move(out);
}

void dict_values(const Op&, KeySet, Value* args, Value* returns) {
  const Dict& dict = args[0].to_dict();
  auto out = make_ref<List>(dict.value_type());
  dict.for_each([&](const Value&, const Value& value) { out->append(value); });
  returns[0] = std::move(out);
}

void dict_items(const Op&, KeySet, Value* args, Value* returns) {
  const Dict& dict = args[0].to_dict();
  const TypePtr types[] = {dict.key_type(), dict.value_type()};
  auto out = make_ref<List>(tuple_type({types, 2}));
  dict.for_each([&](const Value& key, const Value& value) { out->append(pair_of(key, value)); });
  returns[0] = std::move(out);
}

void dict_update(const Op&, KeySet, Value* args, Value*) {
  Dict& dict = args[0].to_dict();
  for (auto& [key, value] : args[1].to_dict().items()) dict.set(std::move(key), std::move(value));
}

void dict_get(const Op&, KeySet, Value* args, Value* returns) {
  const Value* found = args[0].to_dict().find(args[1]);
  returns[0] = found ? *found : Value();
}

void dict_get_default(const Op&, KeySet, Value* args, Value* returns) {
  const Value* found = args[0].to_dict().find(args[1]);
  returns[0] = found ? *found : args[2];
}

void dict_setdefault(const Op&, KeySet, Value* args, Value* returns) {
  Dict& dict = args[0].to_dict();
  if (!dict.find(args[1])) dict.set(args[1], args[2]);
  returns[0] = at(dict, args[1]);
}

void dict_pop(const Op&, KeySet, Value* args, Value* returns) {
  Dict& dict = args[0].to_dict();
  returns[0] = at(dict, args[1]);
  dict.erase(args[1]);
}

void dict_pop_default(const Op&, KeySet, Value* args, Value* returns) {
  Dict& dict = args[0].to_dict();
  const Value* found = dict.find(args[1]);
  returns[0] = found ? *found : args[2];
  dict.erase(args[1]);
}

// The first one, as in TorchScript; Python takes the last.
void dict_popitem(const Op&, KeySet, Value* args, Value* returns) {
  Dict& dict = args[0].to_dict();
  SCONCE_CHECK_AS(key, dict.size() != 0, "popitem(): dictionary is empty");
  auto first = dict.items().front();
  returns[0] = pair_of(first.first, first.second);
  dict.erase(first.first);
}

void dict_clear(const Op&, KeySet, Value* args, Value*) { args[0].to_dict().clear(); }

void dict_delete(const Op&, KeySet, Value* args, Value*) {
  SCONCE_CHECK_AS(key, args[0].to_dict().erase(args[1]), "{}", script_text(args[1]));
}

}  // namespace sconce::boxed
