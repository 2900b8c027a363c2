#include "sconce/syntax/tree.h"

namespace sconce::syntax {

Tree::Tree() = default;
Tree::~Tree() = default;

std::string dotted_name(ExprPtr e) {
  if (const auto* name = as<Name>(e)) return name->id;
  const auto* attribute = as<Attribute>(e);
  const std::string outer = attribute ? dotted_name(attribute->value) : std::string();
  return outer.empty() ? outer : outer + "." + attribute->attr;
}

}  // namespace sconce::syntax
