// Classes of lite libraries, of which they know the layout: sconce/types/class_types.cpp has those of the whole
// library.
#include "sconce/types/class_info.h"
#include "sconce/types/type_table.h"

namespace sconce {
namespace {

struct LiteClass final : Type {
  explicit LiteClass(const Parts& parts) : Type(parts) { class_layout_ = &layout; }
  ClassLayout layout;
};

}  // namespace

TypePtr make_class_type(std::string_view name) {
  return TypeTable::keep(new LiteClass(TypeTable::Parts{TypeKind::class_, {}, name}));
}
TypePtr make_class_type(std::string_view name, TypeScope& scope) {
  return TypeTable::own(scope, new LiteClass(TypeTable::Parts{TypeKind::class_, {}, name}));
}
TypePtr class_type(std::string_view name) {
  return TypeTable::intern({TypeKind::class_, {}, name},
                           [](const TypeTable::Parts& parts) -> Type* { return new LiteClass(parts); });
}

bool InterfaceInfo::has_methods(TypePtr) const { return false; }  // there are no interfaces

}  // namespace sconce
