// Calls through lowered graphs: what a function or an operator computes when its graph was brought to a dialect
// (lowering/dialect.h) first. Results without writes must have the bits of eager ones; a dialect that writes operators
// out rounds otherwise.
#pragma once

#include "sconce/testing/conformance/recorded_call.h"
#include "sconce/testing/conformance/script_call.h"

namespace sconce::testing {

// Runs the lowered graph. In `functional` the call is made eagerly as well, with copies of the arguments: results, and
// what is left in arguments and modules, must have the same bits, else Error. Throws Error for an unknown dialect.
ScriptCall lowered_call(ir::Function& function, const std::string& dialect);

// The same for one operator, alone in a graph.
std::vector<Value> invoke_lowered(const RecordedCall& call, const std::string& dialect);

}  // namespace sconce::testing
