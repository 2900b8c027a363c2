// Functions of the script language that are not operators: len, range, min, int, wrap_dim, ...
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "sconce/types/value.h"

namespace sconce::body {

// The result, or nothing where `name` is no such function for these arguments (so it is an operator: abs of a tensor).
std::optional<Value> call_builtin(std::string_view name, const std::vector<Value>& args);
// The same for methods of lists and facts about tensors: x.dim(), x.size(0), list.append(v).
std::optional<Value> call_builtin_method(std::string_view name, const std::vector<Value>& args);
// x.shape, x.dtype, x.device, x.ndim, and fields of a named tuple. Throws Error where there is no such attribute.
Value attribute_of(const Value& v, std::string_view name);
// inf, nan, pi; dtypes and memory formats behind `torch.`. Nothing when there is no such constant.
std::optional<Value> constant_of(std::string_view name, bool of_torch);

}  // namespace sconce::body
