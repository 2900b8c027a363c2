// Scalar calls: Python's functions and operators on numbers, as nodes.
#pragma once

#include <string_view>

#include "sconce/ir/graph.h"

namespace sconce::exported {

// "mul", "floordiv", "max", "sqrt", ...: the operator of the table that it is, for so many arguments. Empty when
// there is none.
std::string_view find_number_call(std::string_view function, size_t arguments);

// The types of values, for messages: "(Tensor, int)".
std::string type_list(ListRef<ir::Value*> values);

// Inserts a call of the overload of `name` ("aten::add") that takes these values. Throws Error when there is none.
ir::Value* insert_call(ir::Graph& graph, std::string_view name, ListRef<ir::Value*> inputs,
                       const sconce::Range& range = {});
// Inserts a call of a number function; `function` and the number of inputs must be known to find_number_call.
ir::Value* insert_number_call(ir::Graph& graph, std::string_view function, ListRef<ir::Value*> inputs,
                              const sconce::Range& range = {});
// The value as an int, float or bool (of a number, or of a tensor with one element); itself when it is one.
ir::Value* insert_conversion(ir::Graph& graph, ir::Value* v, TypePtr type, const sconce::Range& range = {});

}  // namespace sconce::exported
