// Allow-list of pickle globals: the constructors and constants that a pickle may name. Each is data for us;
// none is Python.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sconce/serialization/pickle/pickle_reader.h"

namespace sconce {

// One line of the list. Lines live as long as the process.
struct PickleConstructor {
  const char* module;
  const char* name;
  // REDUCE: makes a value of the arguments. Throws Error. Null for classes that only stand as arguments of others.
  Value (*make)(const std::vector<Value>& args, PickleContext& context);
};

// Null when the name is not on the list. Names of Python 2 ("__builtin__") are those of Python 3.
const PickleConstructor* find_pickle_constructor(std::string_view module, std::string_view name);
// A global that is a value itself: a dtype (an int), a scheme of quantisation, the name of a storage class (strings).
std::optional<Value> pickle_constant(std::string_view module, std::string_view name);

}  // namespace sconce
