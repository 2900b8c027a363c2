// The constructors and constants that a pickle may name: the closed list. Each is data for us; none is Python.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sconce/serialization/pickle_reader.h"

namespace sconce {

struct PickleGlobal {
  std::string module, name;
};

bool is_known_global(const PickleGlobal& global);
// A global that is a value itself: a dtype (an int), the name of a storage class (a text). Else nothing.
std::optional<Value> global_constant(const PickleGlobal& global);
// REDUCE: what the constructor makes of the arguments. Throws Error.
Value call_global(const PickleGlobal& global, const std::vector<Value>& args, PickleContext& context);
// The dtype of "FloatStorage"; nothing for other names.
std::optional<DType> storage_dtype(std::string_view class_name);

}  // namespace sconce
