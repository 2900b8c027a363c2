// Runs a body: walks its tree.
#pragma once

#include <string_view>
#include <vector>

#include "sconce/dispatch/body_program.h"
#include "sconce/types/value.h"

namespace sconce::body {

// What the body returns, None without a return. `names` and `values` are what it can use. Throws Error, with line and
// column in front of the message.
Value run(const Program& program, const std::vector<std::string_view>& names, const Value* values);

}  // namespace sconce::body
