// Interpreted derivatives: the formulas of custom operators (derivative.h), run by a BodyRunner (body.h).
#pragma once

#include "sconce/dispatch/custom/custom_op.h"

namespace sconce {

// Makes an operator of a library differentiable, before it is in the registry: by its derivatives if it has some, else
// by the operators that its kernels call; backward is an error if neither gives a result its history. An operator with
// a kernel of its own for autograd is left as it is, and so is one with a body.
void make_differentiable(CustomOp& op);

}  // namespace sconce
