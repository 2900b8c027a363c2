// Operators and functions of the script language between values that are not tensors, as in Python.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "sconce/syntax/tree.h"
#include "sconce/types/value.h"

namespace sconce::body {

using syntax::Operator;

// Numbers, strings and lists. Throws Error (type) naming the operator and both types.
Value plain_binary(Operator op, const Value& a, const Value& b);
Value plain_unary(Operator op, const Value& a);
// Of eq, ne, lt, le, gt, ge, in, not_in.
bool plain_compare(Operator op, const Value& a, const Value& b);

// bool(v). A tensor needs one element.
bool truth(const Value& v);
// A list index: negative ones count from the end. Throws Error (index).
size_t item_index(const Value& index, size_t size);
// The elements of a list or tuple.
std::vector<Value> items_of(const Value& v);
// A list whose element type is that of its items; Any where they differ.
Value list_of(std::vector<Value> items);

}  // namespace sconce::body
