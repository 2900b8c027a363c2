// Member lookup: attributes and methods of values of the graph, by type.
#pragma once

#include "sconce/frontend/script/names/sugared_value.h"

namespace sconce::script {

// v.name; null when the type has none of that name.
SugaredPtr find_attribute(Emitter& e, const Range& at, ir::Value* v, const std::string& name);
// The same test without emitting anything, for values that are not instances of classes.
bool has_value_attribute(TypePtr type, const std::string& name);
// Throws "'int' object has no attribute or method 'foo'." with names that are near.
[[noreturn]] void refuse_attribute(const Range& at, TypePtr type, const std::string& name);

}  // namespace sconce::script
