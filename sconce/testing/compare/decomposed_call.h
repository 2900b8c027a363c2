// Decomposed calls: an operator run by its decomposition (OpEntry::decompose) instead of its kernel.
#pragma once

#include <string>
#include <vector>

#include "sconce/dispatch/op.h"

namespace sconce::testing {

// Why this operator has no decomposition to run; empty if it has one.
std::string why_not_decomposed(const Op& op);

// The results of the decomposition's graph, interpreted; as the schema has them. Throws Error, also where the text
// cannot be compiled.
std::vector<Value> invoke_decomposed(const Op& op, std::vector<Value> args);

}  // namespace sconce::testing
