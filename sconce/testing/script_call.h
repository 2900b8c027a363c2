// One recorded call of a compiled function: inputs, and what must come out.
#pragma once

#include <functional>
#include <optional>

#include "sconce/testing/case_kind.h"
#include "sconce/testing/compare.h"
#include "sconce/types/value.h"

namespace sconce::ir {
class Function;
}

namespace sconce::testing {

// Structure and leaves: lists, tuples and dicts item by item, tensors with their dtype's tolerance.
Difference compare_nested(const Value& got, const Value& expected);

// How a call is made, when not by running the function: all arguments, `self` among them.
using ScriptCall = std::function<Value(std::vector<Value> args)>;

// Calls the function with the case's `inputs` (after `self`, when given) and compares with its `out` or `error`.
CaseResult run_script_call(ir::Function& function, const std::optional<Value>& self, const CaseFile& file,
                           const Json& json, const ScriptCall& how = {});
// Only the call, for the state it leaves behind; what it returns or throws is another case's business.
void repeat_script_call(ir::Function& function, const std::optional<Value>& self, const CaseFile& file,
                        const Json& json, const ScriptCall& how = {});

}  // namespace sconce::testing
