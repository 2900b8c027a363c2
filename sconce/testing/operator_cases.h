// The kind `operators` (folders ops/ and leaf/): one call of an operator each.
//   {"op": "aten::add.Tensor", "args": [...], "kwargs": {...}, "out": ..., "seed"?: 0, "mutated"?: {"self": ...}}
// A call must give the recorded outputs, leave the recorded values in the arguments it writes, leave all others as they
// were, and return the tensor itself where the schema says so (in-place and out= forms).
#pragma once

#include "sconce/testing/case_kind.h"

namespace sconce::testing {

const CaseKind& operator_cases();

}  // namespace sconce::testing
