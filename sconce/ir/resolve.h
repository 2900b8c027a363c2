// Overload resolution of nodes: finds the schema that takes the types of their inputs (PyTorch's IR names no
// overloads). There is nothing to bind by name or default: a node has one input for each argument (Note [Binders] in
// dispatch/binding/argument_binder.h).
#pragma once

#include <optional>
#include <vector>

#include "sconce/dispatch/schema.h"
#include "sconce/ir/symbol.h"

namespace sconce {
struct Op;
}

namespace sconce::ir {

// Whether inputs of these types, one per argument, fit the schema; with "..." any number more. Type variables stand for
// one type throughout. Gives the types of the results (one per return of the schema, type variables filled in), or
// nothing. `exact`, when given, gets the number of inputs whose type is the argument's own.
SCONCE_API std::optional<std::vector<TypePtr>> match_types(const Schema& schema, ListRef<TypePtr> inputs,
                                                           size_t* exact = nullptr);

struct ResolvedOp {
  const Op* op = nullptr;  // null when none fits
  std::vector<TypePtr> returns;
};
// The overload of `kind` with the most exact inputs, the first of equals.
SCONCE_API ResolvedOp resolve_types(Symbol kind, ListRef<TypePtr> inputs);

}  // namespace sconce::ir
