// Class registration: classes of C++ that programs call torch.classes.NAMESPACE.NAME, and archives
// __torch__.torch.classes.NAMESPACE.NAME. This is the boxed side, over Values; library.h has the typed one.
//
//   ClassDefinition c("my.Counter");
//   c.def("__init__(int start=0) -> ()", [](Value* args) {
//     return set_instance(args[0], std::make_shared<Counter>(args[1].to_int()));
//   });
//   c.def("add(int n) -> int", [](Value* args) { return Value(instance<Counter>(args[0]).add(args[1].to_int())); });
//   c.def("__getstate__() -> int", [](Value* args) { return Value(instance<Counter>(args[0]).count); });
//   c.def("__setstate__(int state) -> ()", ...);  // as __init__; the two are how files hold an instance
//   const TypePtr type = register_class(std::move(c));
//   Value v = make_instance(type, std::make_shared<Counter>(3));
//
// An instance is an Object of the class's type, whose one attribute is a Capsule over a std::shared_ptr<T>. A class
// lives as long as the process. Operators take and return instances: "my::reset(__torch__.torch.classes.my.Counter c)".
// Classes of Sconce's own are registered by `builtin_classes`, when a program first names any.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <typeinfo>
#include <vector>

#include "sconce/dispatch/custom/custom_op.h"

namespace sconce {

inline constexpr std::string_view kCustomClasses = "__torch__.torch.classes.";

// Reads one Value per argument of the schema (it may move from them), `self` first; returns None for nothing, a tuple
// for several results.
using MethodBody = std::function<Value(Value* args)>;

// A method as an operator that is in no registry: "my::Counter.add(__torch__.torch.classes.my.Counter self, ...)".
struct MethodOp final : CustomOp {
  MethodOp(std::string_view text, std::string_view origin, MethodBody body);
  const MethodBody body;
};

struct CustomClass {
  struct Method {
    std::string name;
    std::unique_ptr<MethodOp> op;
    bool is_static;
  };
  struct Property {
    std::string name;
    std::string getter, setter;  // names of methods; no setter: read-only
  };
  TypePtr type = nullptr;
  std::vector<Method> methods;
  std::vector<Property> properties;
};

class SCONCE_API ClassDefinition {
 public:
  // "my.Counter". `origin` says where the class is defined. Throws Error (value) unless it is NAMESPACE.NAME.
  explicit ClassDefinition(std::string_view name, std::string_view origin = {});
  // The schema has neither namespace nor self, unless it is static. Throws Error when it is wrong or the name is taken.
  void def(std::string_view schema, MethodBody body);
  void def_static(std::string_view schema, MethodBody body);
  // x.name calls the method `getter`, x.name = v the method `setter`.
  void def_property(std::string_view name, std::string_view getter, std::string_view setter = {});

  const std::string& qualified_name() const { return qualified_; }  // with __torch__.torch.classes

 private:
  friend void check_new_classes(const std::vector<ClassDefinition>& classes);
  friend std::vector<TypePtr> register_classes(std::vector<ClassDefinition> classes);
  void add(std::string_view schema, MethodBody body, bool is_static);
  std::string name_, qualified_, origin_;
  CustomClass made_;
};

// Throws Error (value) when a name is taken or a class is not whole. register_classes registers none of them then.
SCONCE_API void check_new_classes(const std::vector<ClassDefinition>& classes);
SCONCE_API std::vector<TypePtr> register_classes(std::vector<ClassDefinition> classes);
SCONCE_API TypePtr register_class(ClassDefinition definition);

// Which class of programs a type of C++ is, for typed methods and kernels: the first that is registered for it. The
// second throws Error (type) for others.
SCONCE_API void bind_class(const std::type_info& type, TypePtr class_type);
SCONCE_API TypePtr bound_class(const std::type_info& type);

SCONCE_API bool is_custom_class(TypePtr type);
// By "__torch__.torch.classes.my.Counter"; null when there is none.
SCONCE_API TypePtr find_custom_class(std::string_view qualified_name);
// The method of a registered class, as an operator; null when it has none.
SCONCE_API const Op* find_class_method(TypePtr type, std::string_view name);
// The qualified names of all that are registered, sorted.
SCONCE_API std::vector<std::string> custom_class_names();

// What layers above give (Note [Connections]): methods as functions of programs; the classes that Sconce itself has.
using DefineClassMethods = void (*)(const CustomClass& made);
extern const DefineClassMethods define_class_methods;  // null where there are no programs
using BuiltinClasses = void (*)();
extern const BuiltinClasses builtin_classes;  // calls register_class; may be null

namespace custom_class {

// What a Capsule of an instance points to.
struct Box {
  const std::type_info& type;
  std::shared_ptr<void> object;
};
SCONCE_API void put(const Value& self, Box box);
// Throws Error (type) unless `self` is an initialised instance over a T of this type.
SCONCE_API const std::shared_ptr<void>& get(const Value& self, const std::type_info& type);

}  // namespace custom_class

#ifdef __cpp_rtti  // parts of small libraries that know no class of C++ do without the names of types

// Fills an instance, as __init__ and __setstate__ do. Returns None.
template <class T>
Value set_instance(const Value& self, std::shared_ptr<T> object) {
  custom_class::put(self, {typeid(T), std::move(object)});
  return {};
}
template <class T>
Value make_instance(TypePtr type, std::shared_ptr<T> object) {
  Value self(make_ref<Object>(type));
  set_instance(self, std::move(object));
  return self;
}
// The C++ object of an instance. Throws Error (type) when it has another class, or was not initialised.
template <class T>
std::shared_ptr<T> instance_pointer(const Value& self) {
  return std::static_pointer_cast<T>(custom_class::get(self, typeid(T)));
}
template <class T>
T& instance(const Value& self) {
  return *static_cast<T*>(custom_class::get(self, typeid(T)).get());
}

#endif

}  // namespace sconce
