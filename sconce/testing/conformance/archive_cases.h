// Archive cases: calls of an archive. <name>.safetensors holds inputs and results, <name>.pt is the program. All kinds
// of file that have an archive beside them can be run so (`--archives`); traced functions, models and old formats have
// no text and always are.
#pragma once

#include "sconce/testing/conformance/case_kind.h"

namespace sconce::testing {

const CaseKind& archive_cases();

}  // namespace sconce::testing
