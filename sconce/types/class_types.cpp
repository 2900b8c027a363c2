// Types with members: classes, interfaces and enums, and refined tensor types.
#include <mutex>

#include "sconce/types/class_info.h"
#include "sconce/types/tensor_facts.h"
#include "sconce/types/type_table.h"

namespace sconce {
namespace {

struct ClassType final : Type {
  explicit ClassType(const Parts& parts) : Type(parts) { class_layout_ = class_info_ = &info; }
  explicit ClassType(std::string_view name) : ClassType(Parts{TypeKind::class_, {}, name}) {}
  ClassInfo info;
};
struct InterfaceType final : Type {
  explicit InterfaceType(std::string_view name) : Type({TypeKind::interface, {}, name}) { interface_info_ = &info; }
  InterfaceInfo info;
};
struct EnumType final : Type {
  EnumType(std::string_view name, TypePtr value) : Type({TypeKind::enum_, {value}, name}) { enum_info_ = &info; }
  EnumInfo info;
};
struct RefinedType final : Type {
  explicit RefinedType(const TensorFacts& known) : Type({TypeKind::tensor}), facts(known) { tensor_facts_ = &facts; }
  TensorFacts facts;
  RefinedType* next = nullptr;
};

}  // namespace

TypePtr make_class_type(std::string_view name) { return TypeTable::keep(new ClassType(name)); }
TypePtr make_class_type(std::string_view name, TypeScope& scope) {
  const TypePtr type = make_class_type(name);
  scope.adopt(type);
  return type;
}
TypePtr make_interface_type(std::string_view name) { return TypeTable::keep(new InterfaceType(name)); }
TypePtr make_enum_type(std::string_view name, TypePtr value) { return TypeTable::keep(new EnumType(name, value)); }

TypePtr class_type(std::string_view name) {
  return TypeTable::intern({TypeKind::class_, {}, name},
                           [](const TypeTable::Parts& parts) -> Type* { return new ClassType(parts); });
}
TypePtr find_class_type(std::string_view name) { return TypeTable::find({TypeKind::class_, {}, name}); }

TypePtr refined_tensor_type(const TensorFacts& facts) {
  if (facts == TensorFacts()) return tensor_type();
  static constinit std::mutex mutex;
  static constinit RefinedType* all = nullptr;
  const std::lock_guard lock(mutex);
  for (RefinedType* type = all; type; type = type->next) {
    if (type->facts == facts) return type;
  }
  auto* const type = new RefinedType(facts);
  type->next = std::exchange(all, type);
  return type;
}

void TypeScope::close() {
  for (TypePtr type = types_; type; type = type->next_) {
    if (ClassInfo* info = type->class_info()) {
      info->methods.clear();
      info->statics.clear();
      info->properties.clear();
      info->forward_pre_hooks.clear();
      info->forward_hooks.clear();
      info->constants.clear();
    }
    if (EnumInfo* info = type->enum_info()) info->members.clear();
    if (InterfaceInfo* info = type->interface_info()) info->methods.clear();
  }
}

bool InterfaceInfo::has_methods(TypePtr type) const {
  for (const auto& [name, schema] : methods) {
    if (!type->class_info()->find_method(name)) return false;
  }
  return true;
}

}  // namespace sconce
