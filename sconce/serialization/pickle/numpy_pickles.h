// NumPy in pickles: arrays become tensors, scalars numbers. What tensors cannot hold (texts, objects, records, dates)
// stays an opaque object.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "sconce/types/value.h"

namespace sconce {

// The value of a call of "numpy._core.multiarray.scalar" or "numpy._core.numeric._frombuffer"; nothing for other
// functions, and for dtypes that tensors do not have. Throws Error when the bytes do not fit.
std::optional<Value> numpy_call(std::string_view function, const std::vector<Value>& args);
// The array that `object`, made by "numpy._core.multiarray._reconstruct", becomes by its state; nothing as above.
std::optional<Value> numpy_array(const Value& object, const Value& state);

}  // namespace sconce
