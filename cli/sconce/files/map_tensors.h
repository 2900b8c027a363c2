// The same value with other tensors.
#pragma once

#include <functional>

#include "sconce/types/value.h"

namespace sconce::cli {

// A copy of lists, dicts and tuples, however nested, in which each tensor is what `f` makes of it. What is shared is
// shared in the copy.
Value map_tensors(const Value& v, const std::function<Tensor(const Tensor&)>& f);

}  // namespace sconce::cli
