// Phase alignment: decompositions of matrices are unique only up to the sign or phase of each vector, and so are their
// gradients. A gradient for a recorded cotangent is that for our vectors when the cotangent is turned as they are.
//   ours = recorded * phase  =>  cotangent for ours = cotangent for recorded * phase
#pragma once

#include <functional>

#include "sconce/testing/compare/compare_rules.h"

namespace sconce::testing {

// Turns the cotangent of output `place` by the phases between our output and the recorded one. Outputs that are not
// vectors of the decomposition, and those that are equal, keep theirs.
Tensor align_cotangent(Rule rule, size_t place, const Tensor& cotangent, const Tensor& ours, const Tensor& recorded);

// If the recorded outputs are not known: calls `f` with the cotangents (one per output) for every choice
// of signs, until it says that one fits. Only the cotangents as they are if there is no choice, or one of
// more than ten vectors.
bool for_each_sign(Rule rule, const std::vector<Tensor>& cotangents,
                   const std::function<bool(const std::vector<Tensor>&)>& f);

}  // namespace sconce::testing
