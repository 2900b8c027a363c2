// Operator cases (folders ops/ and leaf/): one call of an operator each.
//   {"op": "aten::add.Tensor", "args": [...], "kwargs": {...}, "out": ..., "seed"?: 0, "mutated"?: {"self": ...},
//    "grad"?: {"outputs": [0], "cotangents": [...], "inputs": [0, 1], "grads": [...]}}
//   {"op": ..., "args": ..., "kwargs": ..., "raises": {"type": "ValueError", "message": "..."}}: is refused
// A call must give the recorded outputs, leave the recorded values in the arguments it writes, leave all others as they
// were, and return the tensor itself if the schema says so (in-place and out= forms). A second call, whose arguments
// require grad, must give the recorded gradients (gradients.h). A refusal must be of the recorded kind (a RuntimeError
// where PyTorch has an AssertionError) and contain the recorded message.
#pragma once

#include "sconce/testing/conformance/case_kind.h"

namespace sconce::testing {

const CaseKind& operator_cases();

}  // namespace sconce::testing
