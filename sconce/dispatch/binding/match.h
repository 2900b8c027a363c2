// Schema matching: decides whether a call fits a schema, by TorchScript's rules (overload resolution tries them
// twice, see registry.h).
//
// Always: subtypes; None for an optional; an empty list for any list; one element for a list of fixed size (int[2]);
// type variables, each with one type throughout the call. With conversions also: a tuple for a list; the remaining
// positional arguments for a last list (view(2, 3)); a 0-dim tensor without gradient for a number; int for float, both
// for complex, bool for all of them; str for Device. Never: a number for a Tensor, a float for an int.
#pragma once

#include <string>
#include <vector>

#include "sconce/dispatch/registry.h"

namespace sconce {

// Fills `bound` with one Value per argument of the schema (and, for "...", a tuple of the rest). False when the call
// does not fit; `reason`, if not null, then says why.
bool match_arguments(const Schema& schema, const std::vector<Value>& args, const std::vector<NamedValue>& kwargs,
                     bool convert, std::vector<Value>& bound, std::string* reason);

// One value for a type, conversions allowed. False when it does not fit.
bool convert_value(const Value& v, TypePtr type, Value& out);

// The operator that a call by name means ("aten::add" or "aten::add.Tensor"), with its arguments bound.
struct ResolvedCall {
  const Op* op;
  std::vector<Value> args;
};
ResolvedCall resolve_call(std::string_view name, const std::vector<Value>& args, const std::vector<NamedValue>& kwargs);

}  // namespace sconce
