// Program cases: source text, PyTorch's graph, calls.
//
//   programs      `source` among the names of tests/conformance/programs_prelude.py; the first case compares graphs,
//                 the others are calls. A module gets the state in tests/conformance/programs_state, and its calls in
//                 order.
//   jit_suite     `source` stands alone; calls only. Files without text are left out.
//   scripts       programs of our own, each complete in itself, recorded by tools/record_scripts.py
#pragma once

#include "sconce/testing/conformance/case_kind.h"

namespace sconce::testing {

const CaseKind& program_cases();
const CaseKind& script_cases();
const CaseKind& jit_suite_cases();

}  // namespace sconce::testing
