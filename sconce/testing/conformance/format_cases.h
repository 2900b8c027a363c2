// Format cases: one module in several formats. <name>.safetensors holds its state dict, which <name>.pth and
// <name>.legacy.pth must have, and calls, which <name>.ptl must answer.
#pragma once

#include "sconce/testing/conformance/case_kind.h"

namespace sconce::testing {

const CaseKind& format_cases();

}  // namespace sconce::testing
