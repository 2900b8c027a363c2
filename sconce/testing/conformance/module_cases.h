// Module cases: each builds a module of torch.nn. They have constructor arguments, the parameters that it begins with
// after manual_seed, and one call of it. In eval mode also of the frozen module.
#pragma once

#include "sconce/testing/conformance/case_kind.h"

namespace sconce::testing {

const CaseKind& module_cases();

}  // namespace sconce::testing
