// Opaque objects: objects of Python classes that nothing here knows, as records of what the pickle says about them. The
// rest of a file can be read and listed beside them; nothing of their classes is looked for, imported or run.
//
//   OpaqueObject(class_name, arguments, state, items, entries)
//
// `arguments` is a tuple, or None for the class itself; `state` is None or what __setstate__ would get, mostly a dict
// of attributes; `items` and `entries` hold what a subclass of list or dict has in it.
#pragma once

#include <string>
#include <string_view>

#include "sconce/types/value.h"

namespace sconce {

Value make_opaque_class(std::string_view class_name);
Value make_opaque(std::string_view class_name, Value arguments);

#ifdef SCONCE_SMALL  // whose readers make none
constexpr bool is_opaque(const Value&) { return false; }
#else
SCONCE_API bool is_opaque(const Value& v);
#endif
// "object of class 'argparse.Namespace'", "class 'torch.optim.adam.Adam'"
SCONCE_API std::string describe_opaque(const Value& v);

// The parts of one.
const std::string& opaque_class_name(const Value& v);
Value& opaque_arguments(const Value& v);
Value& opaque_state(const Value& v);
List& opaque_items(const Value& v);
Dict& opaque_entries(const Value& v);

}  // namespace sconce
