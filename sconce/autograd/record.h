// Recording: the kernel of Key::autograd, which runs an operator below autograd and records a node for its results,
// from the table's formulas. It is data-driven: OpInfo::gradient says what to do, OpInfo::formulas how.
#pragma once

#include "sconce/dispatch/op.h"

namespace sconce::autograd {

void record(const Op& op, KeySet keys, Value* args, Value* returns);

}  // namespace sconce::autograd
