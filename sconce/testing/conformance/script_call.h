// Recorded script calls: inputs of a compiled function, and its expected result.
#pragma once

#include <functional>
#include <optional>

#include "sconce/testing/compare/compare.h"
#include "sconce/testing/conformance/case_kind.h"
#include "sconce/types/value.h"

namespace sconce::ir {
class Function;
}

namespace sconce::testing {

using TensorComparison = Difference (*)(const Tensor& got, const Tensor& expected);
// With the tolerance of the dtype, a share of the largest value included.
Difference compare_accumulated(const Tensor& got, const Tensor& expected);
// Results of a program that draws random numbers: whether both can be such.
Difference compare_drawn(const Tensor& got, const Tensor& expected);
// Structure and leaves: lists, tuples and dicts item by item; tensors of the same dtype and sizes as asked.
Difference compare_nested(const Value& got, const Value& expected, TensorComparison tensors = compare_accumulated);

// How a call is made, when not by running the function: all arguments, `self` among them.
using ScriptCall = std::function<Value(std::vector<Value> args)>;

// Calls the function with the case's `inputs` (after `self`, when given) and compares with its `out` or `error`; if the
// case names an `op` that is a decomposition, by the rules for that operator (compare_rules.h).
CaseResult run_script_call(ir::Function& function, const std::optional<Value>& self, const CaseFile& file,
                           const Json& json, const ScriptCall& how = {});
// Only the call, for the state it leaves behind; its result or error belongs to another case.
void repeat_script_call(ir::Function& function, const std::optional<Value>& self, const CaseFile& file,
                        const Json& json, const ScriptCall& how = {});

}  // namespace sconce::testing
