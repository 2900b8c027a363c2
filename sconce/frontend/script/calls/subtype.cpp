// Subtyping with interfaces: is_subtype, and classes that implement what is wanted.
#include "sconce/frontend/script/calls/calls.h"
#include "sconce/frontend/script/classes/classes.h"

namespace sconce::script {
bool fits(TypePtr type, TypePtr wanted, std::string* why) {
  if (is_subtype(type, wanted)) return true;
  switch (wanted->kind()) {
    case TypeKind::interface:
      return (type->is(TypeKind::class_) || type->is(TypeKind::interface)) && implements(type, wanted, why);
    case TypeKind::optional:
      if (type->is(TypeKind::none)) return true;
      return fits(type->is(TypeKind::optional) ? type->element() : type, wanted->element(), why);
    case TypeKind::union_:
      for (TypePtr member : wanted->contained()) {
        if (fits(type, member)) return true;
      }
      return false;
    case TypeKind::tuple: {
      if (!type->is(TypeKind::tuple) || !wanted->fields().empty()) return false;
      const ListRef<TypePtr> from = type->contained(), to = wanted->contained();
      if (from.size() != to.size()) return false;
      for (size_t i = 0; i < from.size(); ++i) {
        if (!fits(from[i], to[i], why)) return false;
      }
      return true;
    }
    case TypeKind::future:
      return type->is(TypeKind::future) && fits(type->element(), wanted->element(), why);
    default:
      return false;
  }
}

}  // namespace sconce::script
