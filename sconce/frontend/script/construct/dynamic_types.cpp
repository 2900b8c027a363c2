// The TorchScript types of values of construction time, and the values as these types.
#include <fmt/format.h>

#include "sconce/frontend/script/construct/dynamic.h"
#include "sconce/types/class_info.h"

namespace sconce::script {
namespace {

TypePtr no(std::string* why, std::string reason) {
  if (why) *why = std::move(reason);
  return nullptr;
}

// The one type of all items; null with the reason when there is none.
TypePtr common_type(const std::vector<const Dynamic*>& items, std::string_view what, std::string* why) {
  if (items.empty())
    return no(why, fmt::format("{} is empty: its type cannot be inferred, annotate the attribute", what));
  TypePtr type = nullptr;
  for (const Dynamic* item : items) {
    const TypePtr next = infer_type(*item, why);
    if (!next) return nullptr;
    const TypePtr both = type ? unify(type, next) : next;
    if (!both) {
      return no(
          why, fmt::format("{} has items of different types: {} and {}", what, type->annotation(), next->annotation()));
    }
    type = both;
  }
  return type;
}

std::optional<sconce::Value> wrong(const Dynamic& v, TypePtr type, std::string* why) {
  if (why && why->empty()) *why = fmt::format("expected {}, got {}", type->annotation(), type_name(v));
  return std::nullopt;
}

std::optional<sconce::Value> scalar_as(const Dynamic& v, TypePtr type, std::string* why) {
  const sconce::Value* x = v.value();
  if (!x) return wrong(v, type, why);
  switch (type->kind()) {
    case TypeKind::float_:
      if (x->is_int()) return sconce::Value(static_cast<double>(x->to_int()));
      if (x->is_bool()) return sconce::Value(x->to_bool() ? 1.0 : 0.0);
      break;
    case TypeKind::int_:
      if (x->is_bool()) return sconce::Value(int64_t{x->to_bool()});
      break;
    case TypeKind::complex:
      if (x->is_number()) return sconce::Value(x->to_complex());
      break;
    case TypeKind::number:
      if (x->is_number()) return *x;
      break;
    case TypeKind::device:
      if (x->is_string()) return sconce::Value(parse_device(x->to_string_ref()));
      break;
    default:
      break;
  }
  if (is_subtype(x->type(), type) || (type->is(TypeKind::tensor) && x->is_tensor())) return *x;
  return wrong(v, type, why);
}

std::optional<sconce::Value> list_as(const Dynamic& v, TypePtr type, std::string* why) {
  if (!v.items()) return wrong(v, type, why);
  auto list = make_ref<List>(type->element());
  for (const Dynamic& item : *v.items()) {
    auto x = to_value(item, type->element(), why);
    if (!x) return std::nullopt;
    list->append(std::move(*x));
  }
  return sconce::Value(std::move(list));
}

std::optional<sconce::Value> tuple_as(const Dynamic& v, TypePtr type, std::string* why) {
  if (!v.items() || v.items()->size() != type->contained().size()) return wrong(v, type, why);
  std::vector<sconce::Value> items;
  for (size_t i = 0; i < v.items()->size(); ++i) {
    auto x = to_value((*v.items())[i], type->contained()[i], why);
    if (!x) return std::nullopt;
    items.push_back(std::move(*x));
  }
  return sconce::Value(make_ref<Tuple>(std::move(items), type->fields().empty() ? nullptr : type));
}

std::optional<sconce::Value> dict_as(const Dynamic& v, TypePtr type, std::string* why) {
  const auto* d = v.get<Dynamic::Dict>();
  if (!d) return wrong(v, type, why);
  auto dict = make_ref<Dict>(type->contained()[0], type->contained()[1]);
  for (const auto& [key, value] : (*d)->items) {
    auto k = to_value(key, dict->key_type(), why);
    auto x = k ? to_value(value, dict->value_type(), why) : std::nullopt;
    if (!x) return std::nullopt;
    dict->set(std::move(*k), std::move(*x));
  }
  return sconce::Value(std::move(dict));
}

// An instance of a script class, attribute by attribute.
std::optional<sconce::Value> object_as(const Dynamic& v, TypePtr type, std::string* why) {
  Instance* instance = v.instance();
  if (!instance) return scalar_as(v, type, why);
  if (instance->is_module || (instance->cls->type != type && !fits(instance->cls->type, type, why)))
    return wrong(v, type, why);
  if (!instance->object.is_none()) return instance->object;
  const TypePtr own = instance->cls->type;
  auto object = make_ref<Object>(own);
  instance->object = sconce::Value(object);
  for (size_t i = 0; i < own->class_info()->attributes.size(); ++i) {
    const ClassInfo::Attribute& a = own->class_info()->attributes[i];
    Instance::Attribute* have = instance->find(a.name);
    auto x = have ? to_value(have->value, a.type, why) : std::nullopt;
    if (!x) {
      instance->object = {};
      if (why && why->empty()) *why = fmt::format("{} has no attribute '{}'", own->annotation(), a.name);
      return std::nullopt;
    }
    object->set_slot(i, std::move(*x));
  }
  return instance->object;
}

}  // namespace

TypePtr infer_type(const Dynamic& v, std::string* why) {
  const Nesting level;
  if (const sconce::Value* x = v.value()) return x->is_tensor() ? tensor_type() : x->type();
  if (const auto* l = v.get<Dynamic::List>()) {
    std::vector<const Dynamic*> items;
    for (const Dynamic& item : (*l)->items) items.push_back(&item);
    const TypePtr element = common_type(items, "the list", why);
    return element ? list_type(element) : nullptr;
  }
  if (const auto* t = v.get<Dynamic::Tuple>()) {
    if ((*t)->named) return (*t)->named;
    std::vector<TypePtr> types;
    for (const Dynamic& item : (*t)->items) {
      types.push_back(infer_type(item, why));
      if (!types.back()) return nullptr;
    }
    return tuple_type(types);
  }
  if (const auto* d = v.get<Dynamic::Dict>()) {
    std::vector<const Dynamic*> keys, values;
    for (const auto& [key, value] : (*d)->items) {
      keys.push_back(&key);
      values.push_back(&value);
    }
    const TypePtr key = common_type(keys, "the dict", why);
    const TypePtr value = key ? common_type(values, "the dict", why) : nullptr;
    return value ? dict_type(key, value) : nullptr;
  }
  if (const Instance* i = v.instance(); i && !i->is_module) return i->cls->scope->type_of(*i->cls);
  return no(why, fmt::format("values of type '{}' have no TorchScript type", type_name(v)));
}

std::optional<sconce::Value> to_value(const Dynamic& v, TypePtr type, std::string* why) {
  const Nesting level;
  switch (type->kind()) {
    case TypeKind::optional:
      return v.is_none() ? std::optional(sconce::Value()) : to_value(v, type->element(), why);
    case TypeKind::list:
      return list_as(v, type, why);
    case TypeKind::tuple:
      return tuple_as(v, type, why);
    case TypeKind::dict:
      return dict_as(v, type, why);
    case TypeKind::class_:
    case TypeKind::interface:
      return object_as(v, type, why);
    case TypeKind::union_:
    case TypeKind::any: {
      const TypePtr own = infer_type(v, why);
      if (!own || !is_subtype(own, type)) return wrong(v, type, why);
      return to_value(v, own, why);
    }
    default:
      return scalar_as(v, type, why);
  }
}

}  // namespace sconce::script
