// Optimiser cases (`optim`): optimisers and learning-rate schedules, step for step.
//   {"optimizer": "SGD", "kwargs": {...}, "model": "Linear(5,4) Tanh Linear(4,1)", "loss": "mean((m(x)-y)^2)", "x": ..,
//    "y": .., "start": [parameters], "losses": [one per step], "after_step": [[step, [parameters]], ...]}
//   {"scheduler": "StepLR", "kwargs": {...}, "base_lr": 0.5, "lrs": [one per step]}
#pragma once

#include "sconce/testing/conformance/case_kind.h"

namespace sconce::testing {

const CaseKind& optim_cases();

}  // namespace sconce::testing
