// Second-order cases (`gradgrad`): second derivatives of an operator.
//   {"op", "args", "kwargs", "cotangents", "inputs", "grads", "differentiable_grads", "cotangents2", "grads2"}
// `grads` are the gradients of the outputs that require grad, for `cotangents`, with respect to `inputs` (places among
// the tensors of the arguments); those of them that are named by `differentiable_grads` are differentiated again, for
// `cotangents2`, with respect to the same inputs: `grads2`.
#pragma once

#include "sconce/testing/conformance/case_kind.h"

namespace sconce::testing {

const CaseKind& gradgrad_cases();

}  // namespace sconce::testing
