// Cells of recurrent layers, as PyTorch's tracer sees them: step by step.
#pragma once

#include "sconce/dispatch/op.h"

namespace sconce::tracing {

// Computes the operator by others, each of which is recorded; false for operators that are no cells.
bool run_cell(const Op& op, const Value* args, Value* returns);

}  // namespace sconce::tracing
