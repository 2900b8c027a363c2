// Class descriptions: the members of classes, interfaces and enums. The definer (the compiler, a loader, a custom
// class) fills one before its first use; it is read-only afterwards.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sconce/types/value.h"

namespace sconce {

struct Schema;
namespace ir {
class Function;
}

// What an object has; submodules are attributes too.
struct SCONCE_API ClassLayout {
  enum class AttributeKind : uint8_t { plain, parameter, buffer };
  struct Attribute {
    std::string name;
    TypePtr type;
    AttributeKind kind = AttributeKind::plain;
  };

  std::vector<Attribute> attributes;  // in slot order
  bool is_module = false;

  int find(std::string_view name) const;  // slot of an attribute, or -1
};

struct SCONCE_API ClassInfo : ClassLayout {
  struct Property {
    std::string name;
    ir::Function* getter = nullptr;
    ir::Function* setter = nullptr;  // null when read-only
  };
  // Modules that are containers: the compiler unrolls loops over them, indexes them by literals.
  enum class Container : uint8_t { none, sequential, module_list, module_dict, parameter_list, parameter_dict };

  std::vector<std::pair<std::string, Value>> constants;        // known while compiling: Final, __constants__
  std::vector<std::pair<std::string, ir::Function*>> methods;  // owned by their unit
  std::vector<std::pair<std::string, ir::Function*>> statics;  // @staticmethod
  std::vector<Property> properties;
  std::vector<ir::Function*> forward_pre_hooks, forward_hooks;
  // Methods that have several bodies (@torch.jit._overload_method): forward is forward__0, forward__1, ...
  std::vector<std::pair<std::string, std::vector<std::string>>> overloads;
  // Names that exist but cannot be used, with the reason ("failed attributes").
  std::vector<std::pair<std::string, std::string>> unusable;
  Container container = Container::none;

  const Value* find_constant(std::string_view name) const;     // null when there is none
  ir::Function* find_method(std::string_view name) const;      // null when there is none
  const Property* find_property(std::string_view name) const;  // null when there is none
};

struct SCONCE_API InterfaceInfo {
  std::vector<std::pair<std::string, std::shared_ptr<const Schema>>> methods;  // schemas with `self`
  bool is_module = false;
  const Schema* find(std::string_view name) const;  // null when there is none
  bool has_methods(TypePtr type) const;             // Does the class have all of them, by name?
};

struct SCONCE_API EnumInfo {
  std::vector<std::pair<std::string, Value>> members;  // EnumValues, in order of definition
  const Value* find(std::string_view name) const;      // null when there is none
};

}  // namespace sconce
