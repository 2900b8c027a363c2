// Classes of lite libraries, of which they know the layout: sconce/types/class_types.cpp has those of the whole library.
#include "sconce/types/class_info.h"
#include "sconce/types/type_table.h"

namespace sconce {
namespace {

struct LiteClass final : Type {
  explicit LiteClass(const Parts& parts) : Type(parts) { class_layout_ = &layout; }
  static Type* make(const Parts& parts) { return new LiteClass(parts); }
  ClassLayout layout;
};

}  // namespace

TypePtr make_class_type(std::string_view name) {
  return TypeTable::keep(LiteClass::make({TypeKind::class_, {}, name}));
}
TypePtr class_type(std::string_view name) { return TypeTable::intern({TypeKind::class_, {}, name}, LiteClass::make); }

bool InterfaceInfo::has_methods(TypePtr) const { return false; }  // there are no interfaces

}  // namespace sconce
