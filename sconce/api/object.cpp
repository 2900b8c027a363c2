// jit::Object: attributes and methods of an instance.
#include "sconce/api/jit.h"
#include "sconce/ir/function.h"
#include "sconce/types/class_info.h"

namespace sconce::jit {

Object::Object(UnitPtr unit, Value object) : unit_(std::move(unit)), object_(std::move(object)) {
  SCONCE_CHECK_AS(type, object_.is_object(), "expected an object, got {}", tag_name(object_.tag()));
}

std::string Object::type_name() const { return object_.to_object().type()->name(); }

bool Object::has_attr(std::string_view name) const {
  const ClassInfo& info = *object_.to_object().type()->class_info();
  return info.find(name) >= 0 || info.find_constant(name);
}

Value Object::attr(std::string_view name) const {
  const ClassInfo& info = *object_.to_object().type()->class_info();
  if (const Value* constant = info.find_constant(name)) return *constant;
  return object_.to_object().attr(name);
}

void Object::set_attr(std::string_view name, Value v) const {
  const TypePtr type = object_.to_object().type();
  const int slot = type->class_info()->find(name);
  SCONCE_CHECK(slot >= 0, "'{}' has no attribute '{}' that can be set", type->annotation(), name);
  const TypePtr wanted = type->class_info()->attributes[static_cast<size_t>(slot)].type;
  SCONCE_CHECK_AS(type, is_subtype(v.type(), wanted), "attribute '{}' of '{}' is {}, got {}", name, type->annotation(),
                  wanted->annotation(), v.type()->annotation());
  object_.to_object().set_slot(static_cast<size_t>(slot), std::move(v));
}

std::vector<std::string> Object::attribute_names() const {
  std::vector<std::string> names;
  for (const ClassInfo::Attribute& a : object_.to_object().type()->class_info()->attributes) names.push_back(a.name);
  return names;
}

std::vector<std::string> Object::method_names() const {
  std::vector<std::string> names;
  for (const auto& [name, f] : object_.to_object().type()->class_info()->methods) names.push_back(name);
  return names;
}

bool Object::has_method(std::string_view name) const { return ir::find_method(object_.to_object().type(), name); }

Function Object::method(std::string_view name) const {
  ir::Function* f = ir::find_method(object_.to_object().type(), name);
  SCONCE_CHECK(f, "'{}' has no method '{}'", object_.to_object().type()->annotation(), name);
  return Function(unit_, f, object_);
}

}  // namespace sconce::jit
