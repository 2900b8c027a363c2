// Planned calls: calls of a function repeated by the interpreter and by plans, which must agree bit for bit, in
// results, in what they do to their arguments, and in errors.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "sconce/testing/compare/compare.h"
#include "sconce/types/value.h"

namespace sconce::ir {
class Function;
}

namespace sconce::testing {

// Whether script calls of cases are compared so, in this process and those that it forks.
void compare_plans(bool on);
bool plans_are_compared();

// The same bits, but for the sign and payload of a NaN.
Difference compare_same_bits(const Tensor& got, const Tensor& expected);

// `arguments(self)` gives fresh ones, each time the same. Copies of `self` are called, so that it stays as it is.
Difference compare_planned_calls(ir::Function& function, const std::optional<Value>& self,
                                 const std::function<std::vector<Value>(const std::optional<Value>& self)>& arguments);

}  // namespace sconce::testing
