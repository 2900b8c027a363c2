// Exported cases: calls of an exported program. x.pt2.safetensors lies beside x.pt2, and beside x.core.pt2 if there is
// one (each case runs both).
//
//   inputs, kwargs      the call; a case runs after those before it, on the same module
//   out                 its result
//   after, state        the inputs after the call, tensors of the module by name
//   error               part of the message, for a call that must fail
//   load_error          part of the message, for a file that must not load
#pragma once

#include "sconce/testing/conformance/case_kind.h"

namespace sconce::testing {

const CaseKind& exported_cases();

}  // namespace sconce::testing
