// Error cases: sources that PyTorch's compiler refuses (`error`), or takes (`error` is null).
#pragma once

#include "sconce/testing/conformance/case_kind.h"

namespace sconce::testing {

// How messages are compared stands in script_error.h.
const CaseKind& error_cases();

}  // namespace sconce::testing
