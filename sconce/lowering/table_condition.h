// Case selection: evaluates a condition of the operator table (`when`) for the arguments of one call.
//   rounding_mode is None        exponent == -0.5 and not is_complex(self)
// Tensors are asked for their dtype and rank only, so those on Meta serve.
#pragma once

#include <optional>
#include <span>

#include "sconce/dispatch/op.h"

namespace sconce {

// `args`: one value per argument of the schema. Nothing when the text asks what is not known here.
std::optional<bool> holds(const char* condition, const Op& op, std::span<const Value> args);

}  // namespace sconce
