// Pytrees: the nesting of an exported program's inputs and outputs.
#pragma once

#include <map>

#include "sconce/serialization/exported/exported_json.h"

namespace sconce::exported {

// Field names of named tuples, by the name of the type.
using TupleFields = std::map<std::string, std::vector<std::string>>;

// `[1, {"type": "builtins.tuple", "context": "null", "children_spec": [...]}]`; `name` is what errors call it. Throws
// Error, for container types that Sconce does not have with their name.
Tree read_tree(std::string_view json, const std::string& name, const TupleFields& fields);

}  // namespace sconce::exported
