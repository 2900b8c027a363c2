#include "sconce/dispatch/custom/custom_class.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "sconce/base/once.h"
#include "sconce/dispatch/budget/budget_scope.h"
#include "sconce/types/capsule.h"
#include "sconce/types/class_info.h"

namespace sconce {
namespace {

void run_method(const Op& op, KeySet, Value* args, Value* returns) {
  const InsideOperator inside;
  returns[0] = static_cast<const MethodOp&>(op).body(args);
}

// By qualified name. Classes are never removed.
struct Classes {
  std::mutex mutex;
  std::map<std::string, std::unique_ptr<const CustomClass>, std::less<>> by_name;
  // By the type's name, which a library that is unloaded takes with it.
  std::map<std::string, TypePtr> bound;
};
Classes& classes() {
  static Classes& table = *new Classes;
  return table;
}

void register_builtin_classes() {
  static Once once;
  if (builtin_classes) once(builtin_classes);
}

// A method gives one value: nothing is None, several are a tuple.
void merge_returns(Schema& schema) {
  if (schema.returns.size() == 1) return;
  std::vector<TypePtr> types;
  for (const Argument& a : schema.returns) types.push_back(a.type);
  schema.returns.clear();
  schema.returns.emplace_back().type = types.empty() ? none_type() : tuple_type(types);
  schema.single_return = types.empty();
}

std::string merged_text(std::string_view text) {
  Schema schema = parse_schema(text);
  merge_returns(schema);
  return schema.to_string();
}

}  // namespace

MethodOp::MethodOp(std::string_view text, std::string_view origin, MethodBody given)
    : CustomOp(merged_text(text), OpInfo{}), body(std::move(given)) {
  set_text(&OpTexts::origin, origin);
  for (const Key key : kBackendKeys) set_kernel(key, SCONCE_BOXED_KERNEL(run_method));
}

ClassDefinition::ClassDefinition(std::string_view name, std::string_view origin)
    : name_(name), qualified_(std::string(kCustomClasses) + std::string(name)), origin_(origin) {
  const size_t dot = name.find('.');
  SCONCE_CHECK_AS(value, dot != name.npos && dot > 0 && dot + 1 < name.size() && name.find('.', dot + 1) == name.npos,
                  "the name of a class is NAMESPACE.NAME, got '{}'", name);
  made_.type = class_type(qualified_);
}

void ClassDefinition::add(std::string_view schema, MethodBody body, bool is_static) {
  const size_t open = std::min(schema.find('('), schema.size());
  const std::string method(schema.substr(0, open));
  for (const CustomClass::Method& m : made_.methods) {
    SCONCE_CHECK_AS(value, m.name != method, "class '{}' has the method '{}' already", qualified_, method);
  }
  std::string text = name_;
  text.replace(text.find('.'), 1, "::");
  text += "." + method + "(";
  std::string_view rest = schema.substr(std::min(open + 1, schema.size()));
  if (!is_static) {
    text += qualified_ + " self";
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    if (!rest.starts_with(')')) text += ", ";
  }
  made_.methods.push_back(
      {method, std::make_unique<MethodOp>(text + std::string(rest), origin_, std::move(body)), is_static});
}

void ClassDefinition::def(std::string_view schema, MethodBody body) { add(schema, std::move(body), false); }
void ClassDefinition::def_static(std::string_view schema, MethodBody body) { add(schema, std::move(body), true); }

void ClassDefinition::def_property(std::string_view name, std::string_view getter, std::string_view setter) {
  made_.properties.push_back({std::string(name), std::string(getter), std::string(setter)});
}

void check_new_classes(const std::vector<ClassDefinition>& definitions) {
  Classes& table = classes();
  const std::lock_guard lock(table.mutex);
  for (size_t i = 0; i < definitions.size(); ++i) {
    const std::string& name = definitions[i].qualified_name();
    bool taken = table.by_name.contains(name);
    for (size_t k = 0; k < i; ++k) taken = taken || definitions[k].qualified_name() == name;
    SCONCE_CHECK_AS(value, !taken,
                    "Custom class with name {} is already registered. Ensure that registration with "
                    "torch::class_ is only called once.",
                    name);
    const auto has = [&](std::string_view method) {
      const auto& methods = definitions[i].made_.methods;
      return std::any_of(methods.begin(), methods.end(), [&](const auto& m) { return m.name == method; });
    };
    for (const CustomClass::Property& p : definitions[i].made_.properties) {
      SCONCE_CHECK_AS(value, has(p.getter) && (p.setter.empty() || has(p.setter)),
                      "class '{}': the property '{}' names a method that there is not", name, p.name);
    }
    SCONCE_CHECK_AS(value, has("__getstate__") == has("__setstate__"),
                    "class '{}' needs both of __getstate__ and __setstate__, or neither", name);
  }
}

std::vector<TypePtr> register_classes(std::vector<ClassDefinition> definitions) {
  check_new_classes(definitions);
  Classes& table = classes();
  const std::lock_guard lock(table.mutex);
  // All or none, also when there is no memory.
  std::vector<TypePtr> types;
  decltype(table.by_name) all;
  for (ClassDefinition& definition : definitions) {
    auto made = std::make_unique<const CustomClass>(std::move(definition.made_));
    made->type->class_layout()->attributes = {{"capsule", simple_type(TypeKind::capsule)}};
    if (define_class_methods) define_class_methods(*made);
    types.push_back(made->type);
    all.emplace(definition.qualified_name(), std::move(made));
  }
  table.by_name.merge(all);
  return types;
}

TypePtr register_class(ClassDefinition definition) {
  std::vector<ClassDefinition> one;
  one.push_back(std::move(definition));
  return register_classes(std::move(one))[0];
}

void bind_class(const std::type_info& type, TypePtr class_type) {
  Classes& table = classes();
  const std::lock_guard lock(table.mutex);
  TypePtr& bound = table.bound[type.name()];
  if (!bound || !table.by_name.contains(bound->name())) bound = class_type;
}

TypePtr bound_class(const std::type_info& type) {
  Classes& table = classes();
  const std::lock_guard lock(table.mutex);
  const auto found = table.bound.find(type.name());
  SCONCE_CHECK_AS(type, found != table.bound.end(), "the C++ type {} is not registered as a class", type.name());
  return found->second;
}

bool is_custom_class(TypePtr type) { return type->is(TypeKind::class_) && type->name().starts_with(kCustomClasses); }

TypePtr find_custom_class(std::string_view qualified_name) {
  if (!qualified_name.starts_with(kCustomClasses)) return nullptr;
  register_builtin_classes();
  Classes& table = classes();
  const std::lock_guard lock(table.mutex);
  const auto found = table.by_name.find(qualified_name);
  return found == table.by_name.end() ? nullptr : found->second->type;
}

const Op* find_class_method(TypePtr type, std::string_view name) {
  Classes& table = classes();
  const std::lock_guard lock(table.mutex);
  const auto found = table.by_name.find(type->name());
  if (found == table.by_name.end()) return nullptr;
  for (const CustomClass::Method& m : found->second->methods) {
    if (m.name == name) return m.op.get();
  }
  return nullptr;
}

std::vector<std::string> custom_class_names() {
  register_builtin_classes();
  Classes& table = classes();
  const std::lock_guard lock(table.mutex);
  std::vector<std::string> names;
  for (const auto& [name, made] : table.by_name) names.push_back(name);
  return names;
}

namespace custom_class {

void put(const Value& self, Box box) {
  Object& object = self.to_object();
  SCONCE_CHECK_AS(type, is_custom_class(object.type()), "'{}' is no class of C++", object.type()->name());
  object.set_slot(0, make_capsule(std::move(box)));
}

const std::shared_ptr<void>& get(const Value& self, const std::type_info& type) {
  const Object& object = self.to_object();
  SCONCE_CHECK_AS(type, is_custom_class(object.type()), "'{}' is no class of C++", object.type()->name());
  const Value& slot = object.slot(0);
  SCONCE_CHECK_AS(type, slot.tag() == Tag::capsule, "an object of class '{}' is used before it was initialised",
                  object.type()->name());
  const Box& box = *static_cast<const Box*>(slot.to_capsule().object);
  SCONCE_CHECK_AS(type, box.type == type, "an object of class '{}' holds another C++ object than this method wants",
                  object.type()->name());
  return box.object;
}

}  // namespace custom_class
}  // namespace sconce
