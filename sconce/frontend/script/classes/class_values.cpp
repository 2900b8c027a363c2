// Classes in expressions: K(1), K.static(2), Point(x=1), Color.RED, `for c in Color`.
#include "sconce/frontend/script/classes/classes.h"
#include "sconce/frontend/script/classes/declare_class.h"
#include "sconce/frontend/script/program/program_state.h"

namespace sconce::script {
namespace {

// K.__new__(K) of archives: an instance whose __init__ is yet to be called.
class NewObject : public SugaredValue {
 public:
  explicit NewObject(TypePtr type) : type_(type) {}
  std::string kind() const override { return "__new__"; }
  SugaredPtr call(Emitter& e, const Range& at, const CallArguments&, TypePtr) override {
    return value_of(e, e.node(at, ir::kind::CreateObject, {}, {type_})->output());
  }

 private:
  TypePtr type_;
};

class ClassValue : public SugaredValue {
 public:
  explicit ClassValue(Definition& d) : definition_(d) {}
  std::string kind() const override { return "class"; }

  SugaredPtr call(Emitter& e, const Range& at, const CallArguments& args, TypePtr) override {
    const TypePtr type = definition_.type;
    if (!ir::find_method(type, "__init__")) {
      refuse(at, "Class {} does not have an __init__ function defined", definition_.name);
    }
    ir::Value* self = e.node(at, ir::kind::CreateObject, {}, {type})->output();
    call_method(e, at, self, {std::string("__init__")}, args);
    return simple(self);
  }

  SugaredPtr attr(Emitter& e, const Range& at, const std::string& name) override {
    if (name == "__new__") return std::make_shared<NewObject>(definition_.type);
    const ClassInfo& info = *definition_.type->class_info();
    for (const auto& [method, f] : info.statics) {
      if (method == name) return std::make_shared<FunctionValue>(std::vector<ir::Function*>{f});
    }
    if (const Value* constant = info.find_constant(name)) return simple(e.constant(at, *constant));
    // Hooks of archives stand in a file under the class's name.
    if (Definition* d = definition_.scope->state.find_definition(definition_.type->name() + "." + name)) {
      return d->scope->find_value(e, at, name);
    }
    for (const auto& [member, why] : info.unusable) {
      if (member == name) refuse(at, "{}", why);
    }
    // Hooks of an archive are functions in a file of the class's name.
    if (Definition* d = definition_.scope->state.find_definition(definition_.type->name() + "." + name)) {
      return d->scope->find_value(e, at, name);
    }
    refuse(at, "Tried to lookup unknown attribute on class {}: '{}'", definition_.type->annotation(), name);
  }

 private:
  Definition& definition_;
};

class NamedTupleClass : public SugaredValue {
 public:
  explicit NamedTupleClass(Definition& d) : definition_(d) {}
  std::string kind() const override { return "named tuple class"; }

  SugaredPtr call(Emitter& e, const Range& at, const CallArguments& args, TypePtr) override {
    const TypePtr type = definition_.type;
    Schema schema;
    schema.name = definition_.name;
    for (size_t i = 0; i < type->fields().size(); ++i) {
      Argument a;
      a.name = type->fields()[i];
      a.type = type->contained()[i];
      a.default_value = definition_.defaults[i].second;
      schema.arguments.push_back(std::move(a));
    }
    schema.returns.emplace_back().type = type;
    std::string why;
    const auto matched = try_match(e, at, schema, args, {}, true, &why);
    if (!matched) refuse(at, "{}\n{}", schema.to_string(), why);
    return simple(e.tuple(at, matched->inputs, type));
  }

 private:
  Definition& definition_;
};

class EnumClass : public SugaredValue {
 public:
  explicit EnumClass(TypePtr type) : type_(type) {}
  std::string kind() const override { return "EnumClass"; }

  SugaredPtr attr(Emitter& e, const Range& at, const std::string& name) override {
    const Value* member = type_->enum_info()->find(name);
    if (!member) refuse(at, "Enum class '{}' does not have the member '{}'", type_->annotation(), name);
    return simple(e.constant(at, *member, type_));
  }
  bool has_attr(Emitter&, const Range&, const std::string& name) override { return type_->enum_info()->find(name); }

  SugaredPtr call(Emitter&, const Range& at, const CallArguments&, TypePtr) override {
    refuse(at, "cannot call a EnumClass");
  }

  // A constant list of the members.
  SugaredPtr iterate(Emitter& e, const Range& at) override {
    auto members = make_ref<List>(type_);
    for (const auto& [name, member] : type_->enum_info()->members) members->append(member);
    return simple(e.constant(at, Value(std::move(members)), list_type(type_)))->iterate(e, at);
  }

 private:
  TypePtr type_;
};

// A module class: instances are built before the program is compiled.
class ModuleClass : public SugaredValue {
 public:
  explicit ModuleClass(Definition& d) : definition_(d) {}
  std::string kind() const override { return "python value of type 'type'"; }
  SugaredPtr call(Emitter&, const Range& at, const CallArguments&, TypePtr) override {
    refuse(at, "Cannot instantiate class '{}' in a script function", definition_.name);
  }
  SugaredPtr attr(Emitter& e, const Range& at, const std::string& name) override {
    ir::Function* f = static_function(definition_, name);
    if (f == nullptr) return SugaredValue::attr(e, at, name);
    return std::make_shared<FunctionValue>(std::vector<ir::Function*>{f});
  }

 private:
  Definition& definition_;
};

class InterfaceClass : public SugaredValue {
 public:
  explicit InterfaceClass(std::string name) : name_(std::move(name)) {}
  std::string kind() const override { return "interface"; }
  SugaredPtr call(Emitter&, const Range& at, const CallArguments&, TypePtr) override {
    refuse(at, "Cannot instantiate interface '{}'", name_);
  }

 private:
  std::string name_;
};

class CustomClassValue final : public SugaredValue {
 public:
  explicit CustomClassValue(TypePtr type) : type_(type) {}
  std::string kind() const override { return "class"; }

  SugaredPtr call(Emitter& e, const Range& at, const CallArguments& args, TypePtr) override {
    if (!ir::find_method(type_, "__init__")) {
      refuse(at, "Class {} does not have an __init__ function defined", type_->name());
    }
    ir::Value* self = e.node(at, ir::kind::CreateObject, {}, {type_})->output();
    call_method(e, at, self, {std::string("__init__")}, args);
    return simple(self);
  }

  SugaredPtr attr(Emitter&, const Range& at, const std::string& name) override {
    if (name == "__new__") return std::make_shared<NewObject>(type_);
    for (const auto& [method, f] : type_->class_info()->statics) {
      if (method == name) return std::make_shared<FunctionValue>(std::vector<ir::Function*>{f});
    }
    refuse(at, "Tried to lookup unknown attribute on class {}: '{}'", type_->annotation(), name);
  }

 private:
  TypePtr type_;
};

}  // namespace

SugaredPtr custom_class_value(TypePtr type) { return std::make_shared<CustomClassValue>(type); }

SugaredPtr class_value(Definition& d) {
  switch (d.scope->kind_of(d)) {
    case ClassKind::plain:
      return std::make_shared<ClassValue>(d);
    case ClassKind::named_tuple:
      return std::make_shared<NamedTupleClass>(d);
    case ClassKind::enum_:
      return std::make_shared<EnumClass>(d.type);
    case ClassKind::interface:
      return std::make_shared<InterfaceClass>(d.name);
    case ClassKind::module:
      if (d.type) return std::make_shared<ClassValue>(d);  // of an archive
      return std::make_shared<ModuleClass>(d);
  }
  return nullptr;
}

SugaredPtr call_magic_method(Emitter& e, const Range& at, std::string_view method, ir::Value* self,
                             const CallArguments& args) {
  const TypePtr type = self->type();
  const bool has = type->is(TypeKind::class_)      ? ir::find_method(type, method) != nullptr
                   : type->is(TypeKind::interface) ? type->interface_info()->find(method) != nullptr
                                                   : false;
  if (!has) return nullptr;
  return call_method(e, at, self, {std::string(method)}, args);
}

SugaredPtr call_magic_method(Emitter& e, const Range& at, std::string_view method, ListRef<ir::Value*> self_and_args) {
  CallArguments args;
  for (size_t i = 1; i < self_and_args.size(); ++i) args.positional.push_back({at, {}, simple(self_and_args[i])});
  return call_magic_method(e, at, method, self_and_args[0], args);
}

}  // namespace sconce::script
